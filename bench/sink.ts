/** A server that receives deliveries and answers 204; to a GET it answers with the number of deliveries so far. */
import { createServer } from 'node:http'

let received = 0
createServer((request, response) => {
  if (request.method === 'GET') return void response.end(String(received))
  request.resume().on('end', () => {
    received++
    response.writeHead(204).end()
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
