// Writing to the terminal or a pipe, and words for numbers.

/**
 * Writes to stdout and waits until it is out of our hands, so that a slow reader slows us down.
 * Rejects with code EPIPE when the reader has gone.
 */
export const print = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })

export const printJson = (value: unknown): Promise<void> => print(`${toJson(value)}\n`)

/** JSON; a bigint that no JavaScript number can hold is a string, as is a number that is none. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_, each) => {
    if (typeof each === 'number' && !Number.isFinite(each)) return String(each)
    if (typeof each !== 'bigint') return each
    return Number.isSafeInteger(Number(each)) ? Number(each) : String(each)
  })

/** A line about what is going on, for people; never among the output. */
export const note = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

/** A line of progress that is written over, on a terminal only. */
export class Progress implements Disposable {
  readonly #isShown: boolean
  #last = ''

  constructor(isWanted: boolean) {
    this.#isShown = isWanted && process.stderr.isTTY === true
  }

  show(text: string): void {
    if (!this.#isShown || text === this.#last) return
    this.#last = text
    process.stderr.write(`\r\x1b[K${text}`)
  }

  [Symbol.dispose](): void {
    if (this.#last !== '') process.stderr.write('\r\x1b[K')
    this.#last = ''
  }
}

/** Control characters as escapes, so that nothing in a file can reach the terminal as a command. */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )

/** `2.73 million`, with three digits. */
export const inWords = (count: number): string => {
  const scale = [
    { size: 1e12, word: ' trillion' },
    { size: 1e9, word: ' billion' },
    { size: 1e6, word: ' million' },
    { size: 1, word: '' },
  ].find(({ size }) => count >= size * 0.9995)
  if (scale === undefined || scale.size === 1) return String(count)
  return `${Number((count / scale.size).toPrecision(3))}${scale.word}`
}

/** `2.9 MB`: decimal units, as disks and downloads are sold. */
export const inBytes = (bytes: number): string => {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB']
  let value = bytes
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`
}

/** Rows with aligned columns; `right` names the columns of numbers. */
export const table = (rows: readonly (readonly string[])[], right: readonly number[]): string => {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => (right.includes(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
