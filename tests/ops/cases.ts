// The conformance list: every row of every op, the same for all devices. `docs/add_an_op.md` shows
// how an op gets its rows.
import { arranging } from './cases/arranging.ts'
import { attention } from './cases/attention.ts'
import { elementwise } from './cases/elementwise.ts'
import { flashAttention } from './cases/flash_attn.ts'
import { linear } from './cases/linear.ts'
import { norm } from './cases/norm.ts'
import { positional } from './cases/positional.ts'
import { recurrent } from './cases/recurrent.ts'
import { reductions } from './cases/reductions.ts'
import { rows } from './cases/rows.ts'
import { spatial } from './cases/spatial.ts'
import { type Row, type RowDraft, row } from './row.ts'

/** One file of `cases` each. */
const families: readonly (() => Iterable<RowDraft>)[] = [
  elementwise,
  rows,
  linear,
  norm,
  positional,
  reductions,
  arranging,
  spatial,
  recurrent,
  attention,
  flashAttention,
]

let all: readonly Row[] | undefined

/** Ids are unique. */
export const conformanceRows = (): readonly Row[] => {
  all ??= unique(families.flatMap((family) => [...family()].map(row)))
  return all
}

/** A row that several families ask for stands in the list once. */
const unique = (list: readonly Row[]): Row[] => {
  const known = new Map<string, Row>()
  for (const one of list) {
    const same = known.get(one.id)
    if (same !== undefined && JSON.stringify(same) !== JSON.stringify(one)) {
      throw new Error(`two different rows are called ${one.id}`)
    }
    known.set(one.id, one)
  }
  return [...known.values()]
}
