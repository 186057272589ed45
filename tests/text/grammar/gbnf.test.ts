// GBNF: notation, masks and states, and that no grammar hangs.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { GrammarError } from '../../../src/errors/index.ts'
import { compileGrammar, type GrammarState } from '../../../src/text/grammar/index.ts'
import { createSampler } from '../../../src/text/sampling/index.ts'
import { byteTokens, makeVocabulary, pieces } from './vocabulary.ts'

// Machines are slow now and then; what must not take long says so itself.
setDefaultTimeout(600_000)

const vocabulary = makeVocabulary(pieces, ['<think>', '</think>'])
const think = vocabulary.tokenId!('<think>')!
const endThink = vocabulary.tokenId!('</think>')!

function allowed(state: GrammarState): number[] {
  const mask = state.mask()
  return [...Array(vocabulary.size).keys()].filter(
    (token) => ((mask[token >>> 5]! >>> (token & 31)) & 1) === 1,
  )
}

function matches(grammar: string, text: string): boolean {
  const state = compileGrammar(grammar, vocabulary).start()
  return state.acceptBytes(new TextEncoder().encode(text)) && state.isComplete
}

function expectLanguage(grammar: string, inside: string[], outside: string[]): void {
  for (const text of inside) expect([text, matches(grammar, text)]).toEqual([text, true])
  for (const text of outside) expect([text, matches(grammar, text)]).toEqual([text, false])
}

describe('notation', () => {
  test('escapes in literals and classes', () => {
    expectLanguage(
      'root ::= "\\x41\\u00e9\\U0001F600\\t\\r\\n\\\\\\"\\[\\]"',
      ['Aé😀\t\r\n\\"[]'],
      ['A'],
    )
    expectLanguage('root ::= [\\]\\\\\\x41-\\x43\\u00e9-]', [']', '\\', 'B', 'é', '-'], ['D', 'x'])
  })

  test('a class with ^ is everything else, a dot is anything', () => {
    expectLanguage('root ::= [^a-y]', ['z', 'é', '😀', '\n'], ['a', 'zz', ''])
    expectLanguage('root ::= .', ['a', '\n', '日'], ['', 'ab'])
  })

  test('repetitions apply to literals, classes, groups and rules, and to repetitions', () => {
    expectLanguage(
      'root ::= "ab"{2} [c]? (d | "e")+ d*\nd ::= "d"',
      ['ababcde', 'ababd'],
      ['abcd', 'abab'],
    )
    expectLanguage('root ::= ("a"{2}){2,}', ['aaaa', 'aaaaaa'], ['aa', 'aaaaa'])
    expectLanguage('root ::= "a"{0} "b"{0,1} "c"{,'.replace('{,', '{1}'), ['c', 'bc'], ['ac', ''])
    expectLanguage('root ::= "a"?*', ['', 'aaa'], ['b'])
  })

  test('lines go on in parentheses and after |, comments end with the line', () => {
    expectLanguage(
      '# first\nroot ::= # why\n  ( "a" # one\n  | "b"\n  ) |\n' +
        '  other # two\n\r\nother::="c"\n# end',
      ['a', 'b', 'c'],
      ['', 'ab'],
    )
  })

  test('an alternative may be empty, and the last definition of a rule counts', () => {
    expectLanguage('root ::= "a" x\nx ::= | "b"', ['a', 'ab'], ['b'])
    expectLanguage('root ::= "a"\nroot ::= "b"', ['b'], ['a'])
  })

  test('the empty grammar allows every token', () => {
    const state = compileGrammar('', vocabulary).start()
    expect(allowed(state).length).toBe(vocabulary.size)
    state.accept(think)
    expect(state.isComplete).toBe(true)
  })

  const mistakes: [string, string, RegExp][] = [
    ['root ::= undefined_rule', '1:10', /undefined_rule is not defined/],
    ['root = "a"', '1:6', /expected ::=/],
    ['root ::= ("a"', '1:14', /expected \)/],
    ['root ::= "a', '1:10', /no closing quote/],
    ['root ::= [a-', '1:10', /no closing bracket/],
    ['root ::= []', '1:10', /empty/],
    ['root ::= [z-a]', '1:10', /upside down/],
    ['root ::= *', '1:10', /nothing stands before/],
    ['root ::= "a"{3,1}', '1:13', /below its start/],
    ['root ::= "a"{1000001}', '1:13', /above/],
    ['root ::= "a"{x}', '1:13', /expected \{m\}/],
    ['root ::= "\\q"', '1:11', /no escape/],
    ['root ::= "\\U00110000"', '1:11', /no code point/],
    ['notroot ::= "a"', '1:16', /no rule root/],
    ['root ::= "a"\n ) x', '2:2', /expected the name/],
    ['root ::= <nothing>', '1:10', /not one token/],
    ['   ', '1:4', /no rule root/],
  ]
  for (const [grammar, path, problem] of mistakes) {
    test(`refused: ${JSON.stringify(grammar)}`, () => {
      let caught: unknown
      try {
        compileGrammar(grammar, vocabulary)
      } catch (error) {
        caught = error
      }
      expect(caught).toBeInstanceOf(GrammarError)
      expect((caught as GrammarError).message).toMatch(problem)
      expect((caught as GrammarError).path).toBe(path)
    })
  }

  test('left recursion is refused, through other rules and past empty ones too', () => {
    for (const grammar of [
      'root ::= root "a" | "a"',
      'root ::= a\na ::= b "x"\nb ::= a | "y"',
      'root ::= empty root | "a"\nempty ::= "z"?',
      'root ::= ("a"? root){2,3}',
    ]) {
      expect(() => compileGrammar(grammar, vocabulary)).toThrow(/calls itself before any input/)
    }
  })

  test('a grammar that matches nothing is refused, branches without an end are left out', () => {
    expect(() => compileGrammar('root ::= "a" root', vocabulary)).toThrow(/unsatisfiable/)
    const state = compileGrammar('root ::= "a" | "b" x\nx ::= "c" x', vocabulary).start()
    expect(allowed(state)).toEqual(byteTokens('a'))
  })
})

describe('tokens by name', () => {
  test('a token stands for itself and not for its text', () => {
    const state = compileGrammar('root ::= <think> [a-z]* </think> "x"', vocabulary).start()
    expect(allowed(state)).toEqual([think])
    expect(state.allows('<'.charCodeAt(0))).toBe(false)
    state.accept(think)
    expect(allowed(state)).toContain(endThink)
    for (const token of [...byteTokens('ab'), endThink, ...byteTokens('x')]) state.accept(token)
    expect(state.isComplete).toBe(true)
  })

  test('by id, and all others with !', () => {
    const state = compileGrammar(`root ::= !<[${think}]> (!</think>)* </think>`, vocabulary).start()
    const first = allowed(state)
    expect(first).not.toContain(think)
    expect(first).not.toContain(vocabulary.end)
    expect(first.length).toBe(vocabulary.size - 2)
    state.accept(endThink)
    state.accept(think)
    state.accept(endThink)
    expect(state.isComplete).toBe(true)
  })

  test('a text is found by its bytes when it is no special token', () => {
    const withTag = makeVocabulary(['<tag>'])
    const state = compileGrammar('root ::= <tag>', withTag).start()
    expect(state.allows(256)).toBe(true)
    expect(state.allows('<'.charCodeAt(0))).toBe(false)
  })
})

describe('states', () => {
  test('a code point may come in several tokens', () => {
    const state = compileGrammar('root ::= "é"', vocabulary).start()
    expect(allowed(state)).toEqual(
      [0xc3, ...pieces.flatMap((text, i) => (text === 'é' ? [256 + i] : []))].sort((a, b) => a - b),
    )
    state.accept(0xc3)
    expect(allowed(state)).toEqual([0xa9])
    state.accept(0xa9)
    expect(allowed(state)).toEqual([vocabulary.end])
  })

  test('once the root is complete and cannot go on, only the end is allowed', () => {
    const state = compileGrammar('root ::= "{" "}"', vocabulary).start()
    for (const token of byteTokens('{}')) state.accept(token)
    expect(allowed(state)).toEqual([vocabulary.end])
    state.accept(vocabulary.end)
    expect(state.isFinished).toBe(true)
    expect(allowed(state)).toEqual([])
    expect(() => state.accept(0x20)).toThrow(GrammarError)
  })

  test('a token that does not fit is an error and changes nothing', () => {
    const state = compileGrammar('root ::= "ab" "c"', vocabulary).start()
    expect(() => state.accept(0x7a)).toThrow(/token 122 does not fit/)
    expect(() => state.accept(vocabulary.end)).toThrow(GrammarError)
    expect(() => state.accept(-1)).toThrow(RangeError)
    expect(() => state.accept(vocabulary.size)).toThrow(RangeError)
    for (const token of byteTokens('abc')) state.accept(token)
    expect(state.isComplete).toBe(true)
  })

  test('a clone goes on by itself', () => {
    const state = compileGrammar('root ::= "a" ("b" | "c")', vocabulary).start()
    state.accept(0x61)
    const copy = state.clone()
    state.accept(0x62)
    expect(state.isComplete).toBe(true)
    expect(copy.isComplete).toBe(false)
    copy.accept(0x63)
    expect(copy.isComplete).toBe(true)
  })

  test('many generations share a grammar, and old masks do not leak into new ones', () => {
    const grammar = compileGrammar('root ::= [a-z]{1,300} "!"', vocabulary)
    const states = Array.from({ length: 200 }, () => grammar.start())
    for (const [i, state] of states.entries()) for (let k = 0; k <= i; k++) state.accept(0x61)
    for (const state of states) {
      const mask = state.mask().slice()
      for (let token = 0; token < vocabulary.size; token++) {
        expect(((mask[token >>> 5]! >>> (token & 31)) & 1) === 1).toBe(state.allows(token))
      }
    }
  })

  test('in a large vocabulary masks are the same as one token after the other', () => {
    const letters = 'abcdefgh'
    const strings = Array.from({ length: 6000 }, (_, i) => {
      const length = 1 + (i % 9)
      const chars = Array.from({ length }, (_, k) => letters[(i >> (2 * k)) % 8])
      return chars.join('') + (i % 7 === 0 ? '!' : i % 11 === 0 ? '!?' : '')
    })
    const large = makeVocabulary(strings)
    const grammar = compileGrammar(
      'root ::= [a-h]{4,14} "!" [?]* | [a-z]+ "." | "b"{2,3} "!"',
      large,
    )
    for (const text of ['', 'a', 'ab', 'bb', 'abcde', 'abcdefgha', 'abcdefghabcdef', 'zz']) {
      const state = grammar.start()
      for (const token of byteTokens(text)) state.accept(token)
      const mask = state.mask()
      for (let token = 0; token < large.size; token++) {
        const isSet = ((mask[token >>> 5]! >>> (token & 31)) & 1) === 1
        if (isSet !== state.allows(token)) throw new Error(`token ${token} after ${text}`)
      }
    }
  })

  test('a long generation moves to a fresh machine and stays the same', () => {
    const grammar = compileGrammar(
      'root ::= list\nlist ::= "[" list? "]" | "(" [a-z]{0,9000} ")"',
      vocabulary,
    )
    const state = grammar.start()
    const depth = 3000
    for (let i = 0; i < depth; i++) state.accept(0x5b)
    for (const token of byteTokens(`(${'a'.repeat(9000)}`)) state.accept(token)
    expect(state.allows(0x61)).toBe(false)
    for (const token of byteTokens(')')) state.accept(token)
    for (let i = 0; i < depth; i++) {
      expect(state.isComplete).toBe(false)
      state.accept(0x5d)
    }
    expect(state.isComplete).toBe(true)
  })
})

describe('with a sampler', () => {
  const logits = new Float32Array(vocabulary.size)

  test('the mask applies before truncation', () => {
    const favoured = logits.slice()
    favoured[0x7a] = 50
    const state = compileGrammar('root ::= "{"', vocabulary).start()
    const sampler = createSampler({ topK: 1, seed: 1 }, vocabulary.size)
    expect(sampler.sample(favoured, state.mask())).toBe(0x7b)
  })

  test('when no token of the vocabulary fits, that request alone fails', () => {
    const poor = {
      ...makeVocabulary([]),
      bytes: (token: number) => (token === 0x7b ? new Uint8Array(0) : Uint8Array.of(token)),
    }
    const state = compileGrammar('root ::= "{"', poor).start()
    const sampler = createSampler({ seed: 1 }, poor.size)
    const flat = new Float32Array(poor.size)
    expect(() => sampler.sample(flat, state.mask())).toThrow(GrammarError)
    expect(sampler.sample(flat)).toBeGreaterThanOrEqual(0)
  })
})

describe('bounds', () => {
  /** Compiles and walks; a grammar that is refused must say so with a GrammarError. */
  function survives(grammar: string, text: string): void {
    const start = performance.now()
    try {
      const state = compileGrammar(grammar, vocabulary).start()
      for (const token of byteTokens(text)) {
        state.mask()
        if (!state.allows(token)) break
        state.accept(token)
      }
    } catch (error) {
      expect(error).toBeInstanceOf(GrammarError)
    }
    expect(performance.now() - start).toBeLessThan(20_000)
  }

  test('nested stars and nested optionals', () => {
    survives('root ::= (("a"*)*)*', 'a'.repeat(500))
    survives(`root ::= ${'('.repeat(200)}"a"${'?)'.repeat(200)}`, 'a')
    survives(`root ::= ${'("a" '.repeat(200)}${')?'.repeat(200)}`, 'a'.repeat(200))
    survives(`root ::= ${'("a"*'.repeat(100)}${')*'.repeat(100)} "b"`, 'a'.repeat(100))
  })

  test('parentheses without end are refused', () => {
    survives(`root ::= ${'('.repeat(100_000)}`, '')
    expect(() =>
      compileGrammar(`root ::= ${'('.repeat(600)}"a"${')'.repeat(600)}`, vocabulary),
    ).toThrow(GrammarError)
  })

  test('large and nested counts', () => {
    survives('root ::= "a"{1000000}', 'a'.repeat(2000))
    survives('root ::= (("a"{0,1000}){0,1000}){0,1000} "b"', 'a'.repeat(300))
    survives('root ::= ("a"?){0,100000} "b"', 'a'.repeat(300))
    survives('root ::= (("a" | "aa"){0,1000} "a"?){2,1000}', 'a'.repeat(300))
  })

  test('ambiguity that doubles with every character', () => {
    survives('root ::= x\nx ::= "a" x "b" | "a" x "c" | "a"', 'a'.repeat(200))
    survives('root ::= x x x\nx ::= "a" | x2\nx2 ::= "(" x x ")" | "(" x ")"', '('.repeat(200))
  })

  test('a grammar that gives up on one text still serves others', () => {
    const rules = 'root ::= y | z\ny ::= "a" root "b"\nz ::= "a" root "c" | "a"'
    const grammar = compileGrammar(rules, vocabulary)
    const state = grammar.start()
    const takeMany = () => {
      for (let i = 0; i < 40; i++) {
        state.mask()
        state.accept(0x61)
      }
    }
    expect(takeMany).toThrow(/ambiguous/)
    const other = grammar.start()
    for (const token of byteTokens('aaabc')) {
      const mask = other.mask()
      for (let id = 0; id < vocabulary.size; id++) {
        expect(((mask[id >>> 5]! >>> (id & 31)) & 1) === 1).toBe(other.allows(id))
      }
      other.accept(token)
    }
    expect(other.isComplete).toBe(true)
  })

  test('automata that are exponential when made deterministic as a whole', () => {
    survives(`root ::= [ab]* "a" ${'[ab]'.repeat(40)}`, 'ab'.repeat(300))
  })

  test('thousands of rules in a chain, nullable ones too', () => {
    const count = 5000
    const chain = Array.from({ length: count }, (_, i) => `r${i} ::= r${i + 1}`).join('\n')
    survives(`root ::= r0 "b"\n${chain}\nr${count} ::= "a"?`, 'ab')
    const optional = Array.from({ length: 2000 }, (_, i) => `o${i}`).join(' ')
    const rules = Array.from({ length: 2000 }, (_, i) => `o${i} ::= "a${i} "?`).join('\n')
    survives(`root ::= ${optional}\n${rules}`, 'a3 a1999 ')
  })

  test('long literals and many alternatives', () => {
    survives(`root ::= "${'a'.repeat(100_000)}"`, 'a'.repeat(200))
    const words = Array.from({ length: 5000 }, (_, i) => `"word ${i}"`).join(' | ')
    survives(`root ::= (${words})*`, 'word 17word 4999')
  })
})
