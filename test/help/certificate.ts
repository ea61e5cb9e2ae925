/** A certificate for a server of a test, made by openssl. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { owner } from './cluster.ts'

/** Makes a key and its certificate for `localhost` in a folder; PostgreSQL can read them. */
export function certificate(folder: string, name: string): { readonly key: string; readonly cert: string } {
  const [key, cert] = [join(folder, `${name}-key.pem`), join(folder, `${name}.pem`)]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync('openssl', [...request, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const as = owner()
  chmodSync(folder, 0o755)
  chmodSync(key, 0o600)
  if (as) chownSync(key, as.uid, as.gid)
  return { key, cert }
}
