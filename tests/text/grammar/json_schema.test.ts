// JSON Schema type by type: what is matched and what is not.
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { expectLanguage, Raw, refusal } from './schema_language.ts'

// Machines are slow now and then; what must not take long says so itself.
setDefaultTimeout(600_000)

const raw = (...texts: string[]) => texts.map((text) => new Raw(text))

describe('any value', () => {
  test('all of JSON, and nothing that JSON.parse or a double cannot hold', () => {
    const values = [null, true, -0.5, 1e21, 1e-7, 1.5e300, 'é"\\\n😀', [[], {}], { a: { b: [1] } }]
    const wrong = raw(
      '01',
      '+1',
      '.5',
      '1.',
      '1e999',
      '{a:1}',
      '[1,]',
      '"a',
      '"\\ud83d"',
      '"\n"',
      '',
    )
    expectLanguage({}, values, wrong)
    expectLanguage(true, [...values, ...raw('"\\u00e9\\ud83d\\ude00"', '"\\/"')], wrong)
  })

  test('an object without any keyword about properties is any object', () => {
    expectLanguage({ type: 'object' }, [{}, { a: 1, b: { c: [] } }], [[], 1])
  })
})

describe('white space', () => {
  const schema = { type: 'object', properties: { a: { type: 'array', items: {} } } }

  test('common printing is matched, the compact form alone when that is asked', () => {
    const pretty = [2, '\t', 4].map((indent) => JSON.stringify({ a: [1, { b: [] }] }, null, indent))
    expectLanguage(
      schema,
      [{ a: [1] }, ...raw(...pretty, '{"a": [1, 2]}')],
      raw(' {}', '{} ', '{"a" :[]}'),
      {},
    )
    expectLanguage(schema, [{ a: [1] }], raw('{"a": [1]}', '{ }'))
  })

  test('it cannot go on without end', () => {
    expectLanguage(schema, [], raw(`{${' '.repeat(100)}}`, `{\n${' '.repeat(100)}}`), {})
  })
})

describe('numbers', () => {
  test('limits are exact, also where doubles are', () => {
    expectLanguage(
      { type: 'integer', minimum: -5, exclusiveMaximum: 12 },
      [-5, 0, 11],
      [-6, 12, 1.5],
    )
    expectLanguage(
      { type: 'number', minimum: 0.1, maximum: 0.3 },
      [0.1, 0.2, 0.3, 0.25],
      [0.09, 0.31, 0, 1, -0.2],
    )
    expectLanguage(
      { type: 'number', exclusiveMinimum: 0.1 },
      [0.10000000000000002, 1, 1e20],
      [0.1, ...raw('0.1000000000000000000001'), -1],
    )
    expectLanguage({ type: 'number', maximum: -2.5 }, [-2.5, -3, -1000.25], [-2.4, 0, 2.5, -2])
    expectLanguage({ type: 'integer', minimum: 2 ** 53 }, [9007199254740992], [9007199254740991])
  })

  test('the tighter of two limits counts', () => {
    expectLanguage({ type: 'integer', minimum: 3, exclusiveMinimum: 3, maximum: 5 }, [4, 5], [3, 6])
    expectLanguage(
      { allOf: [{ minimum: 1 }, { minimum: 4 }, { type: 'integer', maximum: 4 }] },
      [4],
      [1, 3, 5],
    )
  })

  test('multiples of whole numbers', () => {
    expectLanguage({ type: 'integer', multipleOf: 7 }, [0, 7, -14, 7e12], [1, 8, 7e12 + 1])
    expectLanguage({ type: 'number', multipleOf: 5, minimum: 3 }, [5, 1e6], [0, 3, 7, 5.5])
    expectLanguage(
      { multipleOf: 4, allOf: [{ multipleOf: 6 }], type: 'integer' },
      [12, -24],
      [4, 6],
    )
    expectLanguage(
      { type: 'integer', multipleOf: 1000, minimum: 1, maximum: 5000 },
      [1000, 5000],
      [0, 6000, 1500],
    )
    expect(refusal({ type: 'number', multipleOf: 0.01 }).keyword).toBe('multipleOf')
    expect(refusal({ type: 'integer', multipleOf: 100_003 }).keyword).toBe('multipleOf')
  })

  test('integer and number together are integer', () => {
    expectLanguage({ type: ['integer', 'number'] }, [1, 1.5], [])
    expectLanguage({ type: 'number', allOf: [{ type: 'integer' }] }, [1], [1.5])
  })
})

describe('strings', () => {
  test('lengths count code points', () => {
    const schema = { type: 'string', minLength: 2, maxLength: 3 }
    expectLanguage(
      schema,
      ['ab', '😀é😀', '\n"', ...raw('"\\ud83d\\ude00a"')],
      ['a', 'abcd', '😀', '😀😀😀😀'],
    )
    const nested = { type: 'object', properties: { a: { type: 'string', maxLength: 2000 } } }
    const of = (char: string, count: number) => ({ a: char.repeat(count) })
    expectLanguage(nested, [of('x', 2000), of('😀', 2000)], [of('x', 2001), of('😀', 2001)])
  })

  test('patterns are searched for, with anchors anywhere', () => {
    expectLanguage({ pattern: '\\S' }, [' a ', 'é'], ['   ', '', '\t\n'])
    expectLanguage({ pattern: '^[a-z]+$' }, ['abc'], ['aB', '', 'a b'])
    expectLanguage({ pattern: '^a|b$' }, ['ax', 'xb', 'a', 'b'], ['xa', 'bx', ''])
    expectLanguage({ pattern: '(^|-)x($|-)' }, ['x', 'a-x-b', 'x-', '-x'], ['ax', 'xa', ''])
    expectLanguage({ pattern: '^$' }, [''], ['a'])
    expectLanguage({ pattern: '' }, ['', 'anything'], [1])
  })

  test('the syntax of expressions', () => {
    expectLanguage({ pattern: '^[\\d_-]{2,3}?[^\\s\\w]$' }, ['12!', '_-1é'], ['1!', '12a', '1234!'])
    expectLanguage(
      { pattern: '^(?:ab|(?<n>c))*\\.\\x41\\u{1F600}\\ud83d\\ude00$' },
      ['abc.A😀😀'],
      ['.A😀'],
    )
    expectLanguage({ pattern: '^\\p{Lu}\\P{L}.$' }, ['É1\t', 'A-"'], ['é1a', 'AAa', 'A1\n'])
    expectLanguage({ pattern: '^[\\]\\\\"/]+$' }, [']\\"/'], ['a'])
    expectLanguage({ pattern: '^a{0}b{2}c{1,}$' }, ['bbc', 'bbccc'], ['abbc', 'bc'])
  })

  test('patterns and lengths hold together', () => {
    expectLanguage(
      { pattern: '^[a-z]+$', minLength: 3, maxLength: 5 },
      ['abc', 'abcde'],
      ['ab', 'abcdef', 'ab1'],
    )
    const name = { pattern: '^[a-z][a-z0-9-]*\\d{2}$', minLength: 4, maxLength: 63 }
    expectLanguage(name, ['ab12', `a${'b'.repeat(60)}12`], ['a12', `a${'b'.repeat(61)}12`, 'ab1x'])
    expectLanguage({ pattern: '^a{3}$', minLength: 2, maxLength: 3 }, ['aaa'], ['aa', 'aaaa'])
    expectLanguage({ pattern: 'x', minLength: 2, maxLength: 3 }, ['xa', 'aax'], ['x', 'aaax', 'ab'])
    expectLanguage(
      { allOf: [{ pattern: '^a' }, { pattern: 'z$' }] },
      ['az', 'abz'],
      ['a', 'z', 'za'],
    )
  })

  test('formats', () => {
    expectLanguage(
      { format: 'date' },
      ['2024-02-29', '2000-02-29', '2023-12-31'],
      ['2023-02-29', '1900-02-29', '2023-04-31', '23-01-01'],
    )
    expectLanguage(
      { format: 'date-time' },
      ['2024-01-31T23:59:59Z', '2024-01-31T00:00:00.123+05:30'],
      ['2024-01-31', '2024-01-31T24:00:00Z'],
    )
    expectLanguage(
      { format: 'uuid' },
      ['123e4567-e89b-12d3-a456-426614174000'],
      ['123e4567e89b12d3a456426614174000'],
    )
    expectLanguage(
      { format: 'ipv4' },
      ['0.0.0.0', '255.10.199.9'],
      ['256.1.1.1', '1.1.1', '01.1.1.1'],
    )
    expectLanguage(
      { format: 'email' },
      ['a.b+c@example.co.uk'],
      ['a@b', '@x.y', 'a@-b.c', 'a..b@c.d'],
    )
    expectLanguage({ format: 'time' }, ['23:59:59Z'], ['23:59:59', '24:00:00Z'])
  })

  const refused: [string, RegExp][] = [
    ['(?=a)', /look-around/],
    ['(?<!a)b', /look-around/],
    ['(a)\\1', /back reference/],
    ['\\bword', /word border/],
    ['(', /no regular expression/],
    ['((a{1,400}){1,400}){1,400}b$|^x', /parts|states/],
  ]
  for (const [pattern, problem] of refused) {
    test(`refused: ${pattern}`, () => {
      const error = refusal({ type: 'object', properties: { 'a/b': { pattern, minLength: 1 } } })
      expect(error.keyword).toBe('pattern')
      expect(error.path).toBe('/properties/a~1b')
      expect(error.message).toMatch(problem)
    })
  }
})

describe('enum and const', () => {
  test('values of all kinds, as JSON writes them', () => {
    const values = ['a"b', '\n', null, 1, true, { x: 1 }, 'é', [1, ['y']], -0.25]
    expectLanguage({ enum: values }, values, ['e', 2, false, {}, [1]])
    expectLanguage({ const: { a: [1, { b: null }] } }, [{ a: [1, { b: null }] }], [{ a: [1] }, {}])
  })

  test('only those values that meet the other keywords', () => {
    const values = ['a', 'abc', 1, 2.5, [1], { k: 1 }, null, '2024-13-01']
    expectLanguage(
      { enum: values, type: ['string', 'integer'], maxLength: 2 },
      ['a', 1],
      ['abc', 2.5, null],
    )
    expectLanguage(
      { enum: values, format: 'date', pattern: '^a' },
      [1, null, [1]],
      ['a', '2024-13-01'],
    )
    expectLanguage(
      { allOf: [{ enum: [1, 2, 3] }, { enum: [2, 3, 4] }, { maximum: 2 }] },
      [2],
      [1, 3],
    )
    expectLanguage(
      { enum: [{ k: 1 }, { k: 'x' }, {}], properties: { k: { type: 'string' } }, required: ['k'] },
      [{ k: 'x' }],
      [{ k: 1 }, {}],
    )
  })
})

describe('arrays', () => {
  test('items and their number', () => {
    expectLanguage(
      { type: 'array', items: { type: 'integer' } },
      [[], [1], [1, 2, 3]],
      [['a'], [1, 'a']],
    )
    expectLanguage(
      { type: 'array', items: { type: 'null' }, minItems: 2, maxItems: 3 },
      [
        [null, null],
        [null, null, null],
      ],
      [[], [null], [null, null, null, null]],
    )
    expectLanguage({ type: 'array', maxItems: 0 }, [[]], [[1]])
    expectLanguage({ type: 'array', items: false }, [[]], [[1]])
    expectLanguage(
      { type: 'array', items: { const: 1 }, maxItems: 1, uniqueItems: true },
      [[], [1]],
      [[1, 1]],
    )
  })

  test('first items with schemas of their own', () => {
    const prefixItems = [{ type: 'integer' }, { type: 'string' }]
    expectLanguage(
      { type: 'array', prefixItems, items: false, minItems: 1 },
      [[1], [1, 'a']],
      [[], ['a'], [1, 2], [1, 'a', 3]],
    )
    expectLanguage(
      { type: 'array', prefixItems, items: { type: 'null' }, minItems: 3, maxItems: 4 },
      [
        [1, 'a', null],
        [1, 'a', null, null],
      ],
      [
        [1, 'a'],
        [1, 'a', 1],
        [1, 'a', null, null, null],
      ],
    )
    expectLanguage({ type: 'array', prefixItems: [{ const: 1 }, false] }, [[], [1]], [[1, 1]])
  })

  test('items that all of several schemas allow', () => {
    const schema = {
      allOf: [{ type: 'array', items: { minimum: 2 } }, { items: { type: 'integer', maximum: 3 } }],
    }
    expectLanguage(schema, [[], [2, 3]], [[1], [4], ['a']])
  })
})

describe('objects', () => {
  const integer = { type: 'integer' }
  const properties = { a: integer, b: integer, c: integer }

  test('required and optional properties, in their order, with commas between', () => {
    const schema = { type: 'object', properties, required: ['b'] }
    expectLanguage(
      schema,
      [{ b: 1 }, { a: 1, b: 2 }, { b: 1, c: 2 }, { a: 1, b: 2, c: 3 }],
      [{ a: 1 }, {}, ...raw('{"b":1,}', '{,"b":1}', '{"a":1"b":2}')],
    )
    expectLanguage({ type: 'object', properties }, [{}, { a: 1, c: 1 }, { c: 1 }], [{ c: 1, a: 1 }])
  })

  test('names are written as JSON writes them', () => {
    const schema = {
      type: 'object',
      properties: { 'a"\n': integer, __proto__x: integer, é: integer },
      required: ['a"\n'],
    }
    expectLanguage(schema, [{ 'a"\n': 1, é: 2 }], [{ é: 2 }])
  })

  test('without additionalProperties only declared names come; with it any other name', () => {
    expectLanguage({ type: 'object', properties: { a: integer } }, [{ a: 1 }], [{ a: 1, x: 1 }])
    expectLanguage({ type: 'object', properties: {} }, [{}], [{ x: 1 }, []])
    const open = {
      type: 'object',
      properties: { name: { type: 'string' }, na: integer },
      additionalProperties: { type: 'boolean' },
    }
    expectLanguage(
      open,
      [
        { name: 'x', nam: true },
        { n: true, '': false },
        { names: true },
        { 'é"': true },
        { na: 1, a: true, b: false },
      ],
      [{ x: 1 }, { name: true }, { na: true }, ...raw('{"n\\u0061":true}')],
    )
    expectLanguage(
      { type: 'object', additionalProperties: integer },
      [{}, { x: 1, y: 2 }],
      [{ x: 'a' }],
    )
    expectLanguage({ type: 'object', additionalProperties: false }, [{}], [{ x: 1 }])
  })

  test('required names without a schema of their own', () => {
    expectLanguage(
      { type: 'object', required: ['x'], properties: { a: integer } },
      [{ x: [] }, { a: 1, x: null }],
      [{ a: 1 }],
    )
    expect(
      refusal({ type: 'object', required: ['x'], additionalProperties: false }).message,
    ).toMatch(/unsatisfiable/)
  })

  test('the number of properties', () => {
    expectLanguage(
      { type: 'object', properties, minProperties: 2 },
      [
        { a: 1, c: 1 },
        { a: 1, b: 1, c: 1 },
      ],
      [{ a: 1 }, {}],
    )
    expectLanguage(
      { type: 'object', properties, maxProperties: 1 },
      [{}, { c: 1 }],
      [{ a: 1, b: 1 }],
    )
    expectLanguage(
      { type: 'object', properties, required: ['b'], minProperties: 2, maxProperties: 2 },
      [{ a: 1, b: 1 }],
      [{ b: 1 }, { a: 1, c: 1 }],
    )
    expect(refusal({ type: 'object', minProperties: 1 }).keyword).toBe('minProperties')
  })

  test('a property that nothing can meet is left out', () => {
    expectLanguage(
      { type: 'object', properties: { a: false, b: integer } },
      [{}, { b: 1 }],
      [{ a: 1 }],
    )
  })
})
