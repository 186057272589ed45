// The tables of cases.md as rows of cells, and the small notations used in them.

/** A row: its id (`B1`), what follows the id in the first cell, and the other cells by column. */
export interface CaseRow {
  id: string
  title: string
  cells: string[]
  /** The headings of the columns after the first. */
  headings: string[]
}

const cellsOf = (line: string): string[] =>
  line
    .slice(1)
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

/** The rows of every table whose ids start with `section`. */
export function caseRows(markdown: string, section: string): CaseRow[] {
  const rows: CaseRow[] = []
  let headings: string[] = []
  let previous: string[] = []
  for (const line of markdown.split('\n')) {
    if (!line.startsWith('|')) continue
    const cells = cellsOf(line)
    const [, id, title] = /^\**([A-Z]\d+)\**\s*(.*)$/.exec(cells[0] ?? '') ?? []
    if (/^[-|\s:]+$/.test(line)) headings = previous.slice(1)
    else if (id?.startsWith(section))
      rows.push({ id, title: title!, cells: cells.slice(1), headings })
    previous = cells
  }
  return rows
}

/** What stands between backticks, as it stands there; spaces inside count. */
export const quoted = (cell: string): string[] =>
  Array.from(cell.matchAll(/`([^`]*)`/g), (match) => match[1]!)

/** Backslash notations of JavaScript strings: `\n`, `\r`, `\uXXXX`. */
export const unescaped = (text: string): string =>
  text
    .replace(/\\u([0-9a-fA-F]{4})/g, (_, digits) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    )
    .replaceAll('\\n', '\n')
    .replaceAll('\\r', '\r')

/** `1 29871 29941×4 / ×5`: lists of ids, `×n` repeats, and a lone `×n` changes the last repeat. */
export function idLists(cell: string): number[][] {
  let before = ''
  return cell.split(' / ').map((list) => {
    const full = /^×\d+$/.test(list) ? before.replace(/×\d+$/, list) : list
    before = full
    return full.split(' ').flatMap((word) => {
      const [id, times] = word.split('×').map(Number)
      return Array.from({ length: times ?? 1 }, () => id!)
    })
  })
}
