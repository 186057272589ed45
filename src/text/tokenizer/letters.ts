// Properties of single characters that word-based tokenizers ask for.

/**
 * The small letter of a character, one character for one: `İ` gives `i` as in Unicode's simple
 * mapping, where JavaScript's gives two characters.
 */
export function lowerCase(character: string): string {
  return character === 'İ' ? 'i' : character.toLowerCase()
}

/** The first character of the canonical decomposition: the letter without its accents. */
export function baseCharacter(character: string): string {
  return String.fromCodePoint(character.normalize('NFD').codePointAt(0)!)
}
