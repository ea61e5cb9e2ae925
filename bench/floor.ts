/** The floor: a bare server of node:http that answers each request with the same headers and body, from memory. */
import { createServer } from 'node:http'

/** Headers and body, as `{ "headers": { … }, "body": "…" }`. */
const { headers, body } = JSON.parse(process.argv[2] as string)
const server = createServer((_, response) => {
  response.writeHead(200, headers)
  response.end(body)
})
server.listen(Number(process.argv[3]), '127.0.0.1', () => console.log('listening'))
