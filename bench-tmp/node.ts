import { f, service } from 'bylaw'
export default service({ name: 'b', resources: { notes: { prefix: 'not', plural: true, fields: { text: f.text(), n: f.integer({optional:true}) }, access: 'public' } }, settings: { server: { engine: 'node' } } })
