// Tells Go templates, as Ollama's model files carry them, from Jinja.

/** A field as Go reads it: `.System`, `$.Tools`, `(.Role)`; Jinja has a name before every dot. */
const field = /(?:^|[\s(])\$?\.[A-Z]/

/** Longest action looked at, UTF-16 units. */
const actionMax = 1000

/**
 * Offset of the first action no Jinja template has; undefined when there is none. Go has no
 * `{% … %}` tags, so a Jinja template that quotes a Go action is not taken for one.
 */
export function goTemplateAt(source: string): number | undefined {
  if (source.includes('{%')) return undefined
  for (let at = source.indexOf('{{'); at >= 0; at = source.indexOf('{{', at + 2)) {
    const action = source.slice(at + 2, at + 2 + actionMax).split('}}', 1)[0]!
    if (field.test(action.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '""'))) return at
  }
  return undefined
}
