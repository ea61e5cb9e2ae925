/** HTTP date: the time of headers. Part 7, conditional read. */

const datePatterns = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<clock>[\d:]{8}) GMT$/,
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<clock>[\d:]{8}) GMT$/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<clock>[\d:]{8}) (?<year>\d{4})$/,
]

/** Parses an HTTP date, in the current form or one of the two obsolete ones, to seconds; null if it is malformed. R130. */
export function parseHttpDate(text: string | undefined): number | null {
  if (text === undefined) return null
  const parts = datePatterns.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined)
  if (!parts) return null
  const { day = '', month, year = '', clock } = parts
  const exact = `${day.replace(' ', '0')} ${month} ${year.length > 2 ? year : year < '70' ? `20${year}` : `19${year}`} ${clock} GMT`
  const time = Date.parse(exact)
  return new Date(time).toUTCString().endsWith(exact) ? time / 1000 : null // Date.parse accepts 31 February
}
