// Stop strings in text that arrives in parts.
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { StopMatcher, TextStream } from '../../../src/text/stream/index.ts'

/** Everything that comes out for these parts, and the stop string found. */
function run(
  stops: string[],
  parts: readonly string[],
): { chunks: string[]; stop: string | undefined } {
  const matcher = new StopMatcher(stops)
  const chunks: string[] = []
  for (const part of parts) {
    const { text, stop } = matcher.push(part)
    chunks.push(text)
    if (stop !== undefined) return { chunks, stop }
  }
  chunks.push(matcher.flush())
  return { chunks, stop: undefined }
}

/** The text in front of the stop string that is complete first, found by looking at every end. */
function byHand(stops: string[], text: string): { text: string; stop: string | undefined } {
  for (let end = 1; end <= text.length; end++) {
    const found = stops.filter((stop) => text.slice(0, end).endsWith(stop))
    const stop = found.sort((a, b) => b.length - a.length)[0]
    if (stop !== undefined) return { text: text.slice(0, end - stop.length), stop }
  }
  return { text, stop: undefined }
}

const letters = (max: number, min = 0) =>
  fc.array(fc.constantFrom('a', 'b', 'c', '🦙', '🦊'), { minLength: min, maxLength: max })
const stopStrings = fc.array(
  letters(4, 1).map((list) => list.join('')),
  { maxLength: 4 },
)
const parts = fc.array(
  letters(4).map((list) => list.join('')),
  { maxLength: 12 },
)

describe('StopMatcher', () => {
  test('holds a started stop string back until it is decided', () => {
    const tokens = [' L', ' M', ' N', ' O', ' P', ' Q', ' R']
    const { chunks, stop } = run(['O P Q'], tokens)
    expect(chunks).toEqual([' L', ' M', ' N', ' ', '', ''])
    expect(stop).toBe('O P Q')
  })

  test('keeps what stands in front of the stop string in the same token', () => {
    expect(run(['\n'], [' Mars', '?\n'])).toEqual({ chunks: [' Mars', '?'], stop: '\n' })
  })

  test('gives back each part once when a stop string does not come', () => {
    const { chunks, stop } = run(['\n', 'Alice:'], [' Alice', '!', ' x'])
    expect(chunks).toEqual([' ', 'Alice!', ' x', ''])
    expect(stop).toBeUndefined()
  })

  test('gives back at the end what was held back', () => {
    expect(run(['abc'], ['xab']).chunks).toEqual(['x', 'ab'])
  })

  test('the empty stop string is refused', () => {
    expect(() => new StopMatcher(['a', ''])).toThrow(new RangeError('stop string 1 is empty'))
    expect(() => new StopMatcher([1 as unknown as string])).toThrow(TypeError)
  })

  test('nothing follows the stop string', () => {
    const matcher = new StopMatcher(['b'])
    expect(matcher.push('abc')).toEqual({ text: 'a', stop: 'b' })
    expect(matcher.push('d')).toEqual({ text: '', stop: 'b' })
    expect(matcher.flush()).toBe('')
  })

  test('the text and the stop string do not depend on how the text is cut', () => {
    fc.assert(
      fc.property(stopStrings, parts, (stops, list) => {
        const { chunks, stop } = run(stops, list)
        expect({ text: chunks.join(''), stop }).toEqual(byHand(stops, list.join('')))
      }),
      { numRuns: 1000 },
    )
  })

  test('it holds back the longest end that starts a stop string, and no more', () => {
    fc.assert(
      fc.property(stopStrings, parts, (stops, list) => {
        const matcher = new StopMatcher(stops)
        let text = ''
        for (const part of list) {
          text += part
          if (matcher.push(part).stop !== undefined) return
          let length = text.length
          while (!stops.some((stop) => stop.startsWith(text.slice(text.length - length)))) {
            if (length === 0) break
            length--
          }
          expect(matcher.held).toBe(text.slice(text.length - length))
        }
      }),
      { numRuns: 500 },
    )
  })

  test('bytes cut anywhere, decoded and searched, are the text in front of the stop string', () => {
    fc.assert(
      fc.property(stopStrings, letters(20), fc.integer({ min: 1, max: 5 }), (stops, list, size) => {
        const bytes = new TextEncoder().encode(list.join(''))
        const stream = new TextStream()
        const matcher = new StopMatcher(stops)
        let text = ''
        let stop: string | undefined
        for (let i = 0; i < bytes.length && stop === undefined; i += size) {
          const result = matcher.push(stream.push(bytes.subarray(i, i + size)))
          text += result.text
          stop = result.stop
        }
        if (stop === undefined) text += matcher.push(stream.flush()).text + matcher.flush()
        expect({ text, stop }).toEqual(byHand(stops, list.join('')))
      }),
      { numRuns: 500 },
    )
  })
})
