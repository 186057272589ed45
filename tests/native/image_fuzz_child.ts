// Gives mutated images, or bad ids in a good image, to native code and runs what it accepts, with
// guard pages around every buffer. Arguments: images or ids, a number to start from, how many, a
// file that always names the one under way.
import { ptr } from 'bun:ffi'
import { openSync, writeSync } from 'node:fs'
import { guardBuffers, nativeCounters } from '../../src/native/devices.ts'
import { native } from '../../src/native/library.ts'
import { lastProblem, Status } from '../../src/native/status.ts'
import { vm } from '../../src/native/vm.ts'
import { baseImages, decoderLayout } from './fuzz_images.ts'
import { mutate, Random, tables } from './mutate.ts'

const [mode = 'images', from = '0', count = '1000', trace = ''] = process.argv.slice(2)

guardBuffers(true)
const random = new Random()
const traceFile = trace === '' ? -1 : openSync(trace, 'w')
const bases = baseImages()
const image = new DataView(new ArrayBuffer(Math.max(...bases.map(({ length }) => length)) + 64))
const imageBytes = new Uint8Array(image.buffer)
const inputs = new Uint8Array(new ArrayBuffer(1 << 20))
const inputNumbers = new Int32Array(inputs.buffer)
const bindings = new DataView(new ArrayBuffer(16 * 64))
const noise = new Uint8Array(new ArrayBuffer(1 << 20))
const imageAddress = ptr(imageBytes)
const inputAddress = ptr(inputs)
const bindingsAddress = ptr(bindings)
const noiseAddress = ptr(noise)

const tally: Record<string, number> = {}
const names = Object.entries(Status)

/** Counts an outcome by the status's name. */
const note = (stage: string, status: number): void => {
  const name = names.find(([, code]) => code === status)?.[0] ?? String(status)
  const key = `${stage} ${name}`
  tally[key] = (tally[key] ?? 0) + 1
}

const largest = 64 << 20
const lifetimeInput = 2

interface Slot {
  index: number
  size: number
  lifetime: number
  access: number
}

const slotsOf = (): Slot[] => {
  const count = image.getUint32(tables.slots.header, true)
  const offset = image.getUint32(tables.slots.header + 4, true)
  return Array.from({ length: count }, (_, index) => {
    const at = offset + index * tables.slots.bytes
    const size = Number(image.getBigUint64(at, true))
    return { index, size, access: image.getUint8(at + 13), lifetime: image.getUint8(at + 14) }
  })
}

/** What lies in memory and inputs: nothing, anything, or small numbers. */
const fillNoise = (kind: number): void => {
  if (kind === 0) noise.fill(0)
  else if (kind === 1) for (let i = 0; i < 4096; i++) noise[i] = random.next()
  else for (let i = 0; i < 4096; i++) noise[i] = i % 4 === 0 ? random.below(7) : 0
}

/** Gives every slot of its own memory, whose last byte ends at a guard page. */
const bindAll = (program: number, slots: readonly Slot[], buffers: number[]): number => {
  let bound = 0
  for (const slot of slots) {
    if (slot.lifetime === lifetimeInput) continue
    const buffer = native.leaven_buffer_create(vm(), 0, 0, slot.size)
    if (buffer === 0) return lastProblem().status
    buffers.push(buffer)
    native.leaven_buffer_set(buffer, 0, noiseAddress, Math.min(slot.size, 4096))
    bindings.setUint32(bound * 16, slot.index, true)
    bindings.setUint32(bound * 16 + 4, buffer, true)
    bindings.setFloat64(bound * 16 + 8, 0, true)
    if (++bound === 64) break
  }
  return native.leaven_program_update(program, bindingsAddress, bound, bindingsAddress, 0)
}

const run = (program: number): void => {
  const slots = slotsOf()
  const needed = slots.reduce((sum, { size }) => sum + size, 0)
  if (needed > largest) {
    note('memory', Status.outOfMemory)
    return
  }
  const buffers: number[] = []
  fillNoise(random.below(3))
  const bound = bindAll(program, slots, buffers)
  note('bind', bound)
  if (bound === Status.ok) {
    const input = slots.find(({ lifetime }) => lifetime === lifetimeInput)
    const size = input?.size ?? 0
    const given = size > inputs.length ? new Uint8Array(size) : inputs
    inputs.set(noise.subarray(0, 4096))
    note(
      'run',
      native.leaven_program_run(program, size > inputs.length ? ptr(given) : inputAddress, size),
    )
    shrink(program)
  }
  for (const buffer of buffers) native.leaven_buffer_release(buffer)
}

/** Smaller extents than the maxima are another set of sizes to get wrong. */
const shrink = (program: number): void => {
  const count = image.getUint32(tables.extents.header, true)
  if (count === 0 || count > 8) return
  for (let i = 0; i < count; i++) bindings.setUint32(i * 4, random.below(4), true)
  note('update', native.leaven_program_update(program, bindingsAddress, 0, bindingsAddress, count))
  const slots = slotsOf()
  const size = slots.find(({ lifetime }) => lifetime === lifetimeInput)?.size ?? 0
  if (size <= inputs.length) note('again', native.leaven_program_run(program, inputAddress, size))
}

const tryImage = (number: number): void => {
  random.seed(number)
  const base = bases[random.below(bases.length)]!
  imageBytes.set(base)
  const size = mutate(image, base.length, random)
  const program = native.leaven_program_create(vm(), imageAddress, size, 1)
  if (program === 0) {
    note('check', lastProblem().status)
    return
  }
  note('check', Status.ok)
  run(program)
  native.leaven_program_release(program)
}

/** Index inputs of the decoder with garbage in some places: an error or a result, never more. */
const tryIds = (count: number, first: number): void => {
  const layouts = (['f32', 'q8_0'] as const).map(decoderLayout)
  const programs = layouts.map((layout) => {
    imageBytes.set(layout.image)
    const program = native.leaven_program_create(vm(), imageAddress, layout.image.length, 1)
    const buffers: number[] = []
    random.seed(1)
    fillNoise(2)
    if (bindAll(program, slotsOf(), buffers) !== Status.ok) throw new Error(lastProblem().message)
    return program
  })
  for (let number = first; number < first + count; number++) {
    if (traceFile >= 0) writeSync(traceFile, `${number}        `, 0)
    random.seed(number)
    const which = random.below(programs.length)
    const { inputBytes } = layouts[which]!
    for (let i = 0; i < inputBytes / 4; i++) inputNumbers[i] = random.below(3)
    for (let bad = random.below(4); bad > 0; bad--) {
      const garbage = random.below(2) === 0 ? random.next() | 0 : random.below(64) - 16
      inputNumbers[random.below(inputBytes / 4)] = garbage
    }
    note('run', native.leaven_program_run(programs[which]!, inputAddress, inputBytes))
  }
}

const objects = nativeCounters().liveObjects
const start = Number(from)
if (mode === 'ids') {
  tryIds(Number(count), start)
} else {
  for (let number = start; number < start + Number(count); number++) {
    if (traceFile >= 0) writeSync(traceFile, `${number}        `, 0)
    tryImage(number)
  }
  tally.left = nativeCounters().liveObjects - objects
}
console.log(JSON.stringify(tally))
