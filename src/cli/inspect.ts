// leaven inspect: what a GGUF file holds, also when its model cannot run here.
import {
  type Gguf,
  GgufNumbers,
  GgufStrings,
  type GgufTensor,
  type GgufValue,
  openGguf,
} from '../files/index.ts'
import type { Arguments, Command } from './command.ts'
import { inBytes, inWords, print, printable, printJson, table } from './terminal.ts'

export const inspectCommand: Command = {
  name: 'inspect',
  summary: 'show what a GGUF file holds',
  operands: ['FILE'],
  details: [
    'Reads the header only: also of files whose model cannot run here, or whose download is cut\n' +
      'short. Of a split file, name the first part.',
  ],
  options: {
    tensors: { help: 'list every tensor: name, type, shape, bytes' },
    full: { help: 'show long arrays and texts of the metadata whole' },
  },
  examples: ['leaven inspect model.gguf', 'leaven inspect model.gguf --tensors --json'],
  async run(args) {
    using gguf = openGguf(args.operands[0]!)
    if (args.has('json')) await printJson(asJson(gguf, args))
    else await print(asText(gguf, args))
    return undefined
  },
}

/** Elements of an array, and characters of a text, that are shown without --full. */
const shownMax = { elements: 8, characters: 100 }

/** What is wrong with the data behind the header, if anything. */
const dataProblem = (gguf: Gguf): string | undefined => {
  try {
    gguf.checkData()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const parameterCount = ({ ne }: GgufTensor): number => ne.reduce((a, b) => a * b, 1)

const sum = (tensors: readonly GgufTensor[], of: (tensor: GgufTensor) => number): number =>
  tensors.reduce((total, tensor) => total + of(tensor), 0)

interface TypeTotal {
  type: string
  tensors: number
  parameters: number
  bytes: number
}

/** The most bytes first. */
const totalsByType = ({ tensors }: Gguf): TypeTotal[] =>
  [...Map.groupBy(tensors, ({ type }) => type)]
    .map(([type, list]) => ({
      type,
      tensors: list.length,
      parameters: sum(list, parameterCount),
      bytes: sum(list, ({ sizeBytes }) => sizeBytes),
    }))
    .sort((a, b) => b.bytes - a.bytes)

function* firstOf<T>(values: Iterable<T>, count: number): Generator<T> {
  let left = count
  for (const value of values) {
    if (left-- === 0) return
    yield value
  }
}

function asJson(gguf: Gguf, args: Arguments) {
  const elementsMax = args.has('full') ? Number.POSITIVE_INFINITY : shownMax.elements
  const metadata = entriesOf(gguf).map(({ key, type, value }) => {
    if (!isArray(value)) return [key, { type, value }]
    const values = [...firstOf<unknown>(value, elementsMax)]
    return [key, { type, length: value.length, values }]
  })
  return {
    files: gguf.files.map(({ name, size }) => ({ name, bytes: size })),
    version: gguf.version,
    alignment: gguf.alignment,
    metadata: Object.fromEntries(metadata),
    types: totalsByType(gguf),
    tensorCount: gguf.tensors.length,
    parameterCount: sum(gguf.tensors, parameterCount),
    dataProblem: dataProblem(gguf) ?? null,
    ...(args.has('tensors')
      ? {
          tensors: gguf.tensors.map(({ name, type, shape, sizeBytes, offset, fileIndex }) => ({
            ...{ name, type, shape, bytes: sizeBytes, offset, file: fileIndex },
          })),
        }
      : {}),
  }
}

interface Entry {
  key: string
  /** Of the value, or of the elements of an array. */
  type: string
  value: GgufValue
}

const entriesOf = ({ metadata }: Gguf): Entry[] =>
  Array.from(metadata.typedEntries(), ([key, input]) => ({
    key,
    type: (input as { type: string }).type,
    value: metadata.get(key)!,
  }))

const isArray = (value: GgufValue): value is GgufNumbers | GgufStrings =>
  value instanceof GgufNumbers || value instanceof GgufStrings

function asText(gguf: Gguf, args: Arguments): string {
  const bytes = gguf.files.reduce((total, { size }) => total + size, 0)
  const names = gguf.files.map(({ name }) => printable(name)).join(', ')
  const parts = [
    `${names}: GGUF version ${gguf.version}, ${inBytes(bytes)}, alignment ${gguf.alignment}`,
  ]
  if (gguf.metadata.size > 0) parts.push(metadataText(gguf, args.has('full')))
  if (args.has('tensors') && gguf.tensors.length > 0) parts.push(tensorsText(gguf))
  parts.push(totalsText(gguf))
  const problem = dataProblem(gguf)
  if (problem !== undefined) parts.push(`The data are not whole: ${printable(problem)}`)
  return `${parts.join('\n\n')}\n`
}

function metadataText(gguf: Gguf, isFull: boolean): string {
  const rows = entriesOf(gguf).map((entry) => {
    const { key, type, value } = entry
    const length = isArray(value) ? `[${value.length}]` : ''
    return [printable(key), `${type}${length}`, shown(entry, isFull)]
  })
  return table(rows, [])
}

function shown({ type, value }: Entry, isFull: boolean): string {
  const one = (each: unknown): string => {
    if (typeof each === 'string') return quoted(each, isFull)
    return type === 'f32' ? shortest(each as number) : String(each)
  }
  if (!isArray(value)) return one(value)
  const elements = isFull ? [...value] : [...firstOf<unknown>(value, shownMax.elements)]
  const list = elements.map(one)
  if (value.length > elements.length) list.push('…')
  return list.join(', ')
}

/** The fewest digits that are still the same f32: 0.00001 instead of 0.000009999999747378752. */
function shortest(value: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(value.toPrecision(digits))
    if (Math.fround(rounded) === value) return String(rounded)
  }
  return String(value)
}

function quoted(text: string, isFull: boolean): string {
  const isCut = !isFull && text.length > shownMax.characters
  const start = isCut ? text.slice(0, shownMax.characters).toWellFormed() : text
  const rest = isCut ? `… (${text.length} characters)` : ''
  return `${printable(JSON.stringify(start))}${rest}`
}

const tensorsText = (gguf: Gguf): string =>
  table(
    [
      ['tensor', 'type', 'shape', 'bytes'],
      ...gguf.tensors.map(({ name, type, shape, sizeBytes }) => [
        printable(name),
        type,
        `[${shape.join(', ')}]`,
        String(sizeBytes),
      ]),
    ],
    [3],
  )

function totalsText(gguf: Gguf): string {
  if (gguf.tensors.length === 0) return 'No tensors.'
  const totals = totalsByType(gguf)
  const all = {
    type: 'all',
    tensors: gguf.tensors.length,
    parameters: sum(gguf.tensors, parameterCount),
    bytes: sum(gguf.tensors, ({ sizeBytes }) => sizeBytes),
  }
  return table(
    [
      ['type', 'tensors', 'parameters', 'bytes'],
      ...(totals.length > 1 ? [...totals, all] : totals).map((total) => [
        total.type,
        String(total.tensors),
        inWords(total.parameters),
        inBytes(total.bytes),
      ]),
    ],
    [1, 2, 3],
  )
}
