// The `tojson` filter: Python's json.dumps, whose spacing and floats differ from JSON.stringify.
import { bind, integerArgument, textArgument } from './arguments.ts'
import type { Budget } from './budget.ts'
import { Fault } from './fault.ts'
import { order, truthy } from './operators.ts'
import { showFloat, showInteger } from './show.ts'
import { Builder, Text, trustedText } from './text.ts'
import {
  type Arguments,
  Dict,
  given,
  List,
  none,
  Thing,
  Tuple,
  typeName,
  type Value,
} from './values.ts'

interface Style {
  readonly ascii: boolean
  readonly indent: Text | undefined
  readonly itemSeparator: Text
  readonly keySeparator: Text
  readonly sortKeys: boolean
}

export function toJson(value: Value, args: Arguments, budget: Budget): Text {
  const [ascii, indent, separators, sortKeys] = bind(
    'tojson',
    args,
    'ensure_ascii?',
    'indent?',
    'separators?',
    'sort_keys?',
  )
  const spacing = indentation(indent, budget)
  const [item, key] = separatorsOf(separators, spacing !== undefined)
  const style = {
    ascii: ascii !== undefined && truthy(ascii),
    indent: spacing,
    itemSeparator: item,
    keySeparator: key,
    sortKeys: sortKeys !== undefined && truthy(sortKeys),
  }
  const writer = new JsonWriter(style, budget)
  writer.write(value, 0)
  return writer.out.build()
}

function indentation(indent: Value | undefined, budget: Budget): Text | undefined {
  if (!given(indent)) return undefined
  if (indent instanceof Text) return indent
  const width = Math.max(0, integerArgument('indent', indent, 0))
  budget.make(width)
  return trustedText(' '.repeat(width))
}

function separatorsOf(separators: Value | undefined, indented: boolean): [Text, Text] {
  if (!given(separators)) {
    return [trustedText(indented ? ',' : ', '), trustedText(': ')]
  }
  const items = separators instanceof Tuple || separators instanceof List ? separators.items : []
  if (items.length !== 2) throw new Fault('separators must be a pair of str')
  return [textArgument('item separator', items[0]), textArgument('key separator', items[1])]
}

class JsonWriter {
  readonly out = new Builder()
  readonly #style: Style
  readonly #budget: Budget

  constructor(style: Style, budget: Budget) {
    this.#style = style
    this.#budget = budget
  }

  write(value: Value, level: number): void {
    this.#budget.step()
    if (value instanceof Text) this.#string(value)
    else if (value instanceof Thing) this.#thing(value, level)
    else this.out.push(scalar(value), false)
  }

  #thing(value: Thing, level: number): void {
    this.#budget.enter()
    if (value === none) this.out.push('null', false)
    else if (value instanceof Dict) this.#dict(value, level + 1)
    else if (value instanceof List || value instanceof Tuple) this.#list(value.items, level + 1)
    else throw new Fault(`Object of type ${typeName(value)} is not JSON serializable`)
    this.#budget.leave()
  }

  #list(items: readonly Value[], level: number): void {
    this.out.push('[', false)
    items.forEach((item, i) => {
      this.#before(i, level)
      this.write(item, level)
    })
    this.#close(']', items.length, level)
  }

  #dict(dict: Dict, level: number): void {
    this.out.push('{', false)
    const entries = [...dict.entries.values()]
    if (this.#style.sortKeys) entries.sort((a, b) => order(a[0], b[0], this.#budget))
    entries.forEach(([key, value], i) => {
      this.#before(i, level)
      this.#string(keyText(key))
      this.out.add(this.#style.keySeparator)
      this.write(value, level)
    })
    this.#close('}', entries.length, level)
  }

  #before(index: number, level: number): void {
    if (index > 0) this.out.add(this.#style.itemSeparator)
    this.#newline(level)
  }

  /** Empty lists and dicts stay on one line. */
  #close(bracket: string, count: number, level: number): void {
    if (count > 0) this.#newline(level - 1)
    this.out.push(bracket, false)
  }

  #newline(level: number): void {
    const { indent } = this.#style
    if (indent === undefined) return
    this.#budget.make(1 + indent.value.length * level)
    this.out.push('\n', false)
    for (let i = 0; i < level; i++) this.out.add(indent)
  }

  #string(text: Text): void {
    this.#budget.make(text.value.length)
    this.#budget.scan(text.value.length)
    this.out.push('"', false)
    this.out.add(text.mapRuns((run) => escapeString(run, this.#style.ascii)))
    this.out.push('"', false)
  }
}

function scalar(value: boolean | bigint | number): string {
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint') return showInteger(value)
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  return showFloat(value)
}

function keyText(key: Value): Text {
  if (key instanceof Text) return key
  if (!(key instanceof Thing)) return trustedText(scalar(key))
  if (key === none) return trustedText('null')
  throw new Fault(`keys must be str, int, float, bool or None, not ${typeName(key)}`)
}

const short: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
  '\b': '\\b',
}

function escapeString(run: string, ascii: boolean): string {
  return run.replace(ascii ? /["\\]|[^ -~]/g : /["\\\x00-\x1f]/g, (unit) => {
    return short[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
