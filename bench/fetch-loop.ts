/** Sends a body to a URL by `fetch` a number of times, in parallel loops. `deliveries.ts` compares deliveries with this. */
const [, , url = '', body = '', count, loops] = process.argv
const headers = { 'content-type': 'application/json' }
let left = Number(count)
const started = performance.now()

async function loop(): Promise<void> {
  while (left-- > 0) await (await fetch(url, { method: 'POST', headers, body })).arrayBuffer()
}

await Promise.all(Array.from({ length: Number(loops) }, loop))
console.log((Number(count) / (performance.now() - started)) * 1000)
