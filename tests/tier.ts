// How much the tests do: the same claims, over more cases the more time there is (tests/README.md).

export type Tier = 'test' | 'ci' | 'full'

const read = (value: string | undefined): Tier => {
  if (value === undefined || value === '') return 'test'
  if (value === 'test' || value === 'ci' || value === 'full') return value
  throw new RangeError(`LEAVEN_TIER is test, ci or full, not ${value}`)
}

/** The tier of this run, by the environment variable LEAVEN_TIER; `test` without it. */
export const tier: Tier = read(process.env.LEAVEN_TIER)

/**
 * The number of cases to check in this tier.
 *
 * @example const images = sample({ test: 2_000, ci: 100_000, full: 1_000_000 })
 */
export const sample = (count: Record<Tier, number>): number => count[tier]
