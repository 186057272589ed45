// Parses the tensor infos of a GGUF header and checks where their data lie.
import { type HeaderCursor, shorten } from './gguf_cursor.ts'
import {
  alignUp,
  dimensionCountMax,
  type GgufTensorType,
  type GgufTensorTypeInfo,
  removedTensorTypes,
  tensorNameBytesMax,
  tensorTypesById,
} from './gguf_types.ts'
import type { Steps } from './slices.ts'

/** A tensor of one file, as its header describes it. */
export interface TensorInfo {
  readonly name: string
  readonly type: GgufTensorType
  /** Innermost first, as in the file: 0 to 4 sizes. */
  readonly ne: readonly number[]
  /** Of the first byte in the file. */
  readonly offset: number
  readonly sizeBytes: number
}

interface Placed extends TensorInfo {
  /** Offset in the file of the field that holds the tensor's offset. */
  readonly field: number
}

const exactMax = BigInt(Number.MAX_SAFE_INTEGER)

/** Reads `count` infos at the position. Data begin at `dataOffset`, aligned when there are any. */
export function* readTensors(
  cursor: HeaderCursor,
  count: number,
  alignment: number,
): Steps<{ tensors: readonly TensorInfo[]; dataOffset: number }> {
  const placed: Placed[] = []
  const names = new Set<string>()
  for (let index = 0; index < count; index++) {
    placed.push(yield* readTensor(cursor, index, names, alignment))
    if (index % 64 === 63) yield
  }
  const headerEnd = cursor.position
  const dataOffset = count === 0 ? headerEnd : alignUp(headerEnd, alignment)
  checkLayout(cursor, placed, dataOffset, alignment)
  const tensors: TensorInfo[] = []
  for (const { name, type, ne, offset, sizeBytes } of placed) {
    tensors.push({ name, type, ne, offset: dataOffset + offset, sizeBytes })
    if (tensors.length % 1024 === 0) yield
  }
  return { tensors, dataOffset }
}

// The offset of the result counts from the beginning of the data.
function* readTensor(
  cursor: HeaderCursor,
  index: number,
  names: Set<string>,
  alignment: number,
): Steps<Placed> {
  cursor.field = `tensor ${index} name`
  const name = yield* readName(cursor, names)
  const shown = `tensor '${shorten(name)}'`
  cursor.field = `${shown} dimension count`
  const countOffset = cursor.position
  const dimensionCount = yield* cursor.u32()
  if (dimensionCount > dimensionCountMax) {
    cursor.fail(
      `${dimensionCount} dimensions are more than ${dimensionCountMax}`,
      dimensionCount,
      countOffset,
    )
  }
  const { ne, elementCount } = yield* readDimensions(cursor, shown, dimensionCount)
  cursor.field = `${shown} type`
  const typeOffset = cursor.position
  const type = findType(cursor, yield* cursor.u32(), typeOffset)
  const row = ne[0] ?? 1
  if (row % type.blockLength !== 0) {
    const rule = `rows of ${type.name} must be a multiple of ${type.blockLength} values`
    cursor.fail(`${rule}, not ${row}`, row, typeOffset)
  }
  const sizeBytes = (elementCount / type.blockLength) * type.blockBytes
  if (!Number.isSafeInteger(sizeBytes)) {
    cursor.fail(`[${ne}] values of ${type.name} are too large for a file`, ne, typeOffset)
  }
  cursor.field = `${shown} offset`
  const field = cursor.position
  const offset = yield* cursor.u64()
  if (offset > exactMax) cursor.fail(`offset ${offset} is beyond any file`, offset, field)
  if (offset % BigInt(alignment) !== 0n) {
    cursor.fail(`offset ${offset} is no multiple of the alignment ${alignment}`, offset, field)
  }
  return { name, type: type.name, ne, offset: Number(offset), sizeBytes, field }
}

function* readName(cursor: HeaderCursor, names: Set<string>): Steps<string> {
  const offset = cursor.position
  const { start, end } = yield* cursor.string()
  const name = cursor.text(start, end)
  if (end - start > tensorNameBytesMax) {
    const rule = `a name has at most ${tensorNameBytesMax} bytes, not ${end - start}`
    cursor.fail(`${rule}: '${shorten(name)}'`, shorten(name), offset)
  }
  // C readers end a name at its NUL: two names that differ only after it could be mixed up.
  const unique = name.split('\0', 1)[0]!
  if (names.has(unique)) cursor.fail(`there are two tensors '${shorten(unique)}'`, name, offset)
  names.add(unique)
  return name
}

function* readDimensions(
  cursor: HeaderCursor,
  shown: string,
  count: number,
): Steps<{ ne: number[]; elementCount: number }> {
  const ne: number[] = []
  let elementCount = 1n
  for (let index = 0; index < count; index++) {
    cursor.field = `${shown} dimension ${index}`
    const offset = cursor.position
    const size = yield* cursor.u64()
    if (size >= 2n ** 63n) {
      const signed = BigInt.asIntN(64, size)
      cursor.fail(`the size ${signed} is negative`, signed, offset)
    }
    elementCount *= size
    if (size > exactMax || elementCount > exactMax) {
      const sizes = [...ne, size].join(', ')
      cursor.fail(`[${sizes}] are more values than 2^53`, size, offset)
    }
    ne.push(Number(size))
  }
  return { ne, elementCount: Number(elementCount) }
}

const findType = (cursor: HeaderCursor, id: number, offset: number): GgufTensorTypeInfo => {
  const removed = removedTensorTypes.get(id)
  if (removed) cursor.fail(`type ${id} (${removed}) is a removed type, requantise`, id, offset)
  return tensorTypesById.get(id) ?? cursor.fail(`type ${id} is unknown`, id, offset)
}

// The ranges of the tensors' data must not overlap. See gguf_parse.ts on holes and cut files.
const checkLayout = (
  cursor: HeaderCursor,
  tensors: readonly Placed[],
  dataOffset: number,
  alignment: number,
): void => {
  const inOrder = tensors.every(({ offset }, i) => i === 0 || tensors[i - 1]!.offset <= offset)
  // An empty tensor may share its offset with the one after it.
  const sorted = inOrder
    ? tensors
    : tensors.toSorted((a, b) => a.offset - b.offset || a.sizeBytes - b.sizeBytes)
  let end = 0
  let before: Placed | undefined
  for (const tensor of sorted) {
    const { offset, sizeBytes, field } = tensor
    cursor.field = `tensor '${shorten(tensor.name)}' offset`
    if (offset < end) {
      cursor.fail(
        `its data begin at ${offset}, inside '${shorten(before!.name)}', which ends at ${end}`,
        offset,
        field,
      )
    }
    const fileEnd = dataOffset + offset + sizeBytes
    if (offset > alignUp(end, alignment) && fileEnd > cursor.fileBytes) {
      cursor.fail(
        `its data would lie after a hole, at ${dataOffset + offset} to ${fileEnd}, ` +
          `and the file has ${cursor.fileBytes} bytes`,
        offset,
        field,
      )
    }
    if (!Number.isSafeInteger(fileEnd)) {
      cursor.fail(`its data end at ${fileEnd}, beyond any file`, offset, field)
    }
    end = Math.max(end, offset + sizeBytes)
    before = tensor
  }
}
