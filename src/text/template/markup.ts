// Python's markupsafe: text marked as safe HTML escapes plain text that is joined to it.
import type { Text } from './text.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&#39;',
  '"': '&#34;',
}

/** Safe text stays as it is; plain text has & < > ' " replaced and becomes safe. */
export function escapeHtml(text: Text): Text {
  if (text.safe) return text
  return text.mapRuns((run) => run.replace(/[&<>'"]/g, (one) => entities[one]!)).withSafe(true)
}
