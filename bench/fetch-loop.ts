/** Sends a body to a URL by `fetch` a number of times, in some loops at once: what deliveries are compared with. */
const [, , url = '', body = '', times, loops] = process.argv
const headers = { 'content-type': 'application/json' }
let left = Number(times)
const started = performance.now()

async function loop(): Promise<void> {
  while (left-- > 0) await (await fetch(url, { method: 'POST', headers, body })).arrayBuffer()
}

await Promise.all(Array.from({ length: Number(loops) }, loop))
console.log((Number(times) / (performance.now() - started)) * 1000)
