// Random graphs against their meaning: places in the arena, in-place reuse, views, updates and
// extents must not show in the results.
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Arena } from '../../src/device/arena.ts'
import { devices } from '../../src/device/device.ts'
import type { Program } from '../../src/device/program.ts'
import { compile, compileLayout } from '../../src/graph/compile.ts'
import { sample } from '../tier.ts'
import { Builder, opKinds, type RandomGraph, type Rows, type Step } from './random_graph.ts'
import { firstDifference, Reference } from './reference.ts'

const device = devices()[0]!
const seed = 20_261_130
const report = { seed, includeErrorInReport: true }

const steps = fc.array(fc.tuple(fc.nat(opKinds - 1), fc.nat(1000), fc.nat(1000), fc.nat(1000)), {
  minLength: 1,
  maxLength: 24,
})
const outputs = fc.array(fc.nat(1000), { maxLength: 5 })

const build = (list: readonly Step[], chosen: readonly number[], rows: Rows): RandomGraph => {
  const buffer = device.createBuffer({ size: 1 << 16 })
  return new Builder(buffer, seed, rows).build(list, chosen)
}

/** Runs with every byte of the arena set so that what is read before it was written is NaN. */
const runPoisoned = (program: Program, arena: Arena, made: RandomGraph) => {
  for (const { tensor, offset } of made.states) {
    const { origin } = tensor
    if (origin.kind === 'home') origin.home.buffer.set(made.homes.get(tensor)!, offset)
  }
  arena.reserve(program.peakBytes)
  arena.buffer?.fill(0xff)
  return program.runSync(made.inputs, { extents: made.extents })
}

const expectMeaning = (made: RandomGraph, results: Record<string, Float32Array>) => {
  const reference = new Reference(made.graph, made)
  for (const { name, tensor } of made.graph.outputs) {
    const problem = firstDifference(results[name]!, reference.read(tensor))
    if (problem !== undefined) throw new Error(`${name}${problem}`)
  }
  for (const { tensor, offset } of made.states) {
    const { origin } = tensor
    if (origin.kind !== 'home') continue
    const bytes = origin.home.buffer.get(offset, made.homes.get(tensor)!.byteLength)
    const problem = firstDifference(new Float32Array(bytes.buffer), reference.read(tensor))
    if (problem !== undefined) throw new Error(`state ${problem}`)
  }
}

test('a graph gives what its nodes mean, whatever was in memory before', () => {
  fc.assert(
    fc.property(steps, outputs, fc.integer({ min: 0, max: 5 }), (list, chosen, value) => {
      const made = build(list, chosen, { max: 5, value, extent: false })
      using arena = new Arena(device)
      using program = compile(made.graph, { arena, threads: 2 })
      expectMeaning(made, runPoisoned(program, arena, made))
      // Nothing of the first run shows in the second.
      expectMeaning(made, runPoisoned(program, arena, made))
    }),
    { ...report, numRuns: sample({ test: 300, ci: 3_000, full: 100_000 }) },
  )
})

test('any value of an extent gives what a graph of that size gives', () => {
  fc.assert(
    fc.property(
      steps,
      outputs,
      fc.array(fc.nat(7), { minLength: 1, maxLength: 4 }),
      (list, chosen, values) => {
        using arena = new Arena(device)
        let program: Program | undefined
        for (const value of values) {
          const made = build(list, chosen, { max: 7, value, extent: true })
          program ??= compile(made.graph, { arena, threads: 1 })
          using own = compile(made.graph, { arena, threads: 1 })
          expectMeaning(made, runPoisoned(own, arena, made))
        }
        program?.dispose()
      },
    ),
    { ...report, numRuns: sample({ test: 200, ci: 2_000, full: 50_000 }) },
  )
})

test('the image is a function of the graph', () => {
  fc.assert(
    fc.property(steps, outputs, (list, chosen) => {
      const layouts = [0, 1].map(() => {
        const made = build(list, chosen, { max: 4, value: 4, extent: true })
        return compileLayout(made.graph, device)
      })
      expect(layouts[0]!.image).toEqual(layouts[1]!.image)
      expect(layouts[0]!.arena).toEqual(layouts[1]!.arena)
    }),
    { ...report, numRuns: sample({ test: 50, ci: 500, full: 5_000 }) },
  )
})
