// What the test runners say they ran: bun's JUnit reports and zig's build summary.

export interface Count {
  passed: number
  failed: number
}

/** Skipped tests are neither. A report without its closing tag is one more failure. */
export const junitCount = (xml: string): Count => {
  const head = /<testsuites\b[^>]*>/.exec(xml)?.[0] ?? ''
  const number = (name: string): number => {
    const value = new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1]
    return value === undefined ? 0 : Number(value)
  }
  const failed = number('failures') + number('errors')
  const passed = number('tests') - failed - number('skipped')
  const whole = head !== '' && xml.trimEnd().endsWith('</testsuites>')
  return { passed, failed: whole ? failed : failed + 1 }
}

/** Of `zig build test --summary all`: `Build Summary: 5/5 steps succeeded; 22/22 tests passed`. */
export const zigCount = (output: string): Count => {
  const summary = /^Build Summary:.*?(\d+)\/(\d+) tests passed(.*)$/m.exec(output)
  if (summary === null) return { passed: 0, failed: 0 }
  const skipped = /(\d+) skipped/.exec(summary[3] ?? '')?.[1] ?? '0'
  const passed = Number(summary[1])
  return { passed, failed: Number(summary[2]) - passed - Number(skipped) }
}
