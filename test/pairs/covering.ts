/** Covering arrays: rows of levels that contain every two levels of different factors together at least once. */

export type Factors = Readonly<Record<string, readonly string[]>>
export type Row = Readonly<Record<string, string>>

/** The name of a pair of levels. */
const pair = (a: string, x: string, b: string, y: string): string => `${a}=${x} & ${b}=${y}`

export function pairsOf(factors: Factors): string[] {
  const names = Object.keys(factors)
  return names.flatMap((a, i) =>
    names
      .slice(i + 1)
      .flatMap((b) => (factors[a] ?? []).flatMap((x) => (factors[b] ?? []).map((y) => pair(a, x, b, y)))),
  )
}

export function pairsIn(row: Row): string[] {
  const names = Object.keys(row)
  return names.flatMap((a, i) => names.slice(i + 1).map((b) => pair(a, row[a] as string, b, row[b] as string)))
}

const candidates = 40

/** Rows that cover all pairs, found greedily: of several random rows the one with the most pairs that are still missing. */
export function coveringRows(factors: Factors, random: () => number): Row[] {
  const missing = new Set(pairsOf(factors))
  const rows: Row[] = []
  const gain = (row: Row): number => pairsIn(row).filter((one) => missing.has(one)).length
  while (missing.size > 0) {
    const [wanted] = missing
    const made = Array.from({ length: candidates }, () =>
      improved(withPair(randomRow(), wanted as string), wanted as string),
    )
    const best = made.reduce((a, b) => (gain(b) > gain(a) ? b : a))
    rows.push(best)
    for (const one of pairsIn(best)) missing.delete(one)
  }
  return rows

  function randomRow(): Row {
    return Object.fromEntries(
      Object.entries(factors).map(([name, levels]) => [name, levels[Math.floor(random() * levels.length)] as string]),
    )
  }
  /** Each factor that the wanted pair leaves free takes the level that covers the most. */
  function improved(row: Row, wanted: string): Row {
    let best = row
    for (const [name, levels] of Object.entries(factors)) {
      if (new RegExp(`(^|& )${name}=`).test(wanted)) continue
      for (const level of levels) {
        const other = { ...best, [name]: level }
        if (gain(other) > gain(best)) best = other
      }
    }
    return best
  }
}

function withPair(row: Row, wanted: string): Row {
  const levels = wanted.split(' & ').map((part) => part.split('=') as [string, string])
  return { ...row, ...Object.fromEntries(levels) }
}
