// The syntax tree of a template. `at` is an offset into the normalised source.
import type { Value } from './values.ts'

export interface CallArguments {
  readonly positional: readonly Expression[]
  readonly named: readonly (readonly [name: string, value: Expression])[]
  /** `*rest` and `**rest`. */
  readonly list: Expression | undefined
  readonly dict: Expression | undefined
}

export type UnaryOperator = '+' | '-' | 'not'
export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**'
export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in'

export type Expression = { readonly at: number } & (
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'tuple' | 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'dict'; readonly pairs: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: 'attribute'; readonly object: Expression; readonly name: string }
  | { readonly kind: 'item'; readonly object: Expression; readonly index: Expression }
  | { readonly kind: 'slice'; readonly object: Expression; readonly bounds: SliceBounds }
  | { readonly kind: 'call'; readonly callee: Expression; readonly args: CallArguments }
  | FilterExpression
  | TestExpression
  | { readonly kind: 'unary'; readonly operator: UnaryOperator; readonly operand: Expression }
  | BinaryExpression
  | { readonly kind: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'compare'; readonly first: Expression; readonly rest: readonly Comparison[] }
  | { readonly kind: 'concat'; readonly items: readonly Expression[] }
  | ConditionExpression
)

export type SliceBounds = readonly [
  start: Expression | undefined,
  stop: Expression | undefined,
  step: Expression | undefined,
]

/** `object` is undefined where the value comes from a block: `{% filter upper %}`. */
export interface FilterExpression {
  readonly kind: 'filter'
  readonly at: number
  readonly name: string
  readonly object: Expression | undefined
  readonly args: CallArguments
}

export interface TestExpression {
  readonly kind: 'test'
  readonly name: string
  readonly object: Expression
  readonly args: CallArguments
}

export interface BinaryExpression {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}

export interface Comparison {
  readonly operator: CompareOperator
  readonly right: Expression
}

export interface ConditionExpression {
  readonly kind: 'condition'
  readonly test: Expression
  readonly yes: Expression
  readonly no: Expression | undefined
}

/** What may be assigned: a name, an attribute of a namespace, or a tuple of those. */
export type Target =
  | { readonly kind: 'name'; readonly name: string; readonly at: number }
  | { readonly kind: 'member'; readonly object: string; readonly name: string; readonly at: number }
  | { readonly kind: 'targets'; readonly items: readonly Target[]; readonly at: number }

export type Block = readonly Statement[]

export interface Signature {
  readonly parameters: readonly string[]
  /** Defaults of the last parameters. */
  readonly defaults: readonly Expression[]
  /** Whether the body reads these names, and so accepts such arguments. */
  readonly usesRest: boolean
  readonly usesNamedRest: boolean
  readonly usesCaller: boolean
}

export type Statement = { readonly at: number } & (
  | { readonly kind: 'text'; readonly text: Value }
  | { readonly kind: 'print'; readonly value: Expression }
  | { readonly kind: 'if'; readonly branches: readonly IfBranch[]; readonly otherwise: Block }
  | ForStatement
  | { readonly kind: 'set'; readonly target: Target; readonly value: Expression }
  | SetBlockStatement
  | WithStatement
  | { readonly kind: 'macro'; readonly name: string; readonly macro: MacroBody }
  | { readonly kind: 'call block'; readonly call: Expression; readonly caller: MacroBody }
  | { readonly kind: 'filter block'; readonly filter: FilterExpression; readonly body: Block }
  | { readonly kind: 'block' | 'generation'; readonly body: Block }
  | { readonly kind: 'break' | 'continue' }
)

export interface IfBranch {
  readonly test: Expression
  readonly body: Block
}

export interface ForStatement {
  readonly kind: 'for'
  readonly at: number
  readonly target: Target
  readonly source: Expression
  readonly filter: Expression | undefined
  readonly recursive: boolean
  readonly body: Block
  readonly otherwise: Block
}

export interface SetBlockStatement {
  readonly kind: 'set block'
  readonly target: Target
  readonly filter: FilterExpression | undefined
  readonly body: Block
}

export interface WithStatement {
  readonly kind: 'with'
  readonly targets: readonly (readonly [Target, Expression])[]
  readonly body: Block
}

export interface MacroBody {
  readonly signature: Signature
  readonly body: Block
}
