/**
 * The proxies that people put in front of a service, each with a configuration that lets through as much as it can. Connections to
 * the service are kept and shared, so that bytes left behind by one request would begin the next.
 */
import type { Program } from '../help/programs.ts'

export interface Ports {
  readonly from: number
  /** The port for HTTP/2 without TLS. */
  readonly http2: number
  readonly to: number
  readonly folder: string
}

export interface Proxy {
  readonly program: Program
  /** The name of its config file, if it reads the format from the name. */
  readonly file?: string
  readonly words: (file: string) => readonly string[]
  readonly config: (ports: Ports) => string
}

const api = 'type.googleapis.com/envoy.extensions'
const casePreserved = `{ stateful_formatter: { name: preserve_case, typed_config: { '@type': ${api}.http.header_formatters.preserve_case.v3.PreserveCaseFormatterConfig } } }`

/** Envoy with these options for HTTP/1.1 on both sides; it has no administration interface unless one is declared. */
const envoy = (options: string): Proxy => ({
  program: 'envoy',
  file: 'config.yaml',
  words: (file) => ['-c', file, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'critical'],
  config: ({ from, http2, to }) => `static_resources:
  listeners:
  - address: { socket_address: { address: 127.0.0.1, port_value: ${from} } }
    additional_addresses: [{ address: { socket_address: { address: 127.0.0.1, port_value: ${http2} } } }]
    filter_chains:
    - filters:
      - name: http
        typed_config:
          '@type': ${api}.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          http_protocol_options: ${options}
          common_http_protocol_options: { idle_timeout: 10s }
          upgrade_configs: [{ upgrade_type: websocket }]
          proxy_100_continue: true
          delayed_close_timeout: 0.02s
          http_filters: [{ name: router, typed_config: { '@type': ${api}.filters.http.router.v3.Router } }]
          route_config:
            request_headers_to_add: [{ header: { key: X-Relayed, value: 'yes' }, append_action: OVERWRITE_IF_EXISTS_OR_ADD }]
            virtual_hosts: [{ name: all, domains: ['*'], routes: [{ match: { prefix: / }, route: { cluster: service, timeout: 10s } }] }]
  clusters:
  - name: service
    connect_timeout: 5s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        '@type': ${api}.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: { http_protocol_options: ${options} }
    load_assignment:
      cluster_name: service
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${to} } } } }] }]
`,
})

export const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    program: 'nginx',
    words: (file) => ['-c', file, '-e', 'stderr'],
    config: ({ from, http2, to, folder }) => `daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 200; }
http {
  access_log off;
  ${['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name === 'body' ? 'client_body' : name}_temp_path ${folder}/${name};`).join(' ')}
  upstream service { server 127.0.0.1:${to}; keepalive 4; }
  server {
    listen 127.0.0.1:${from}; listen 127.0.0.1:${http2} http2;
    location / {
      proxy_pass http://service; proxy_http_version 1.1; proxy_request_buffering off;
      proxy_set_header Connection ""; proxy_set_header Host $http_host; proxy_set_header X-Relayed yes;
    }
  }
}
`,
  },
  HAProxy: {
    program: 'haproxy',
    words: (file) => ['-db', '-f', file],
    config: ({ from, http2, to }) => `global
  maxconn 200
defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
  http-reuse always
frontend front
  bind 127.0.0.1:${from}
  bind 127.0.0.1:${http2} proto h2
  http-request set-header X-Relayed yes
  default_backend service
backend service
  server one 127.0.0.1:${to}
`,
  },
  Apache: {
    program: 'apache2',
    words: (file) => ['-DFOREGROUND', '-f', file],
    config: ({ from, http2, to, folder }) => `ServerRoot ${folder}
PidFile ${folder}/pid
ErrorLog /dev/null
ServerName localhost
Listen 127.0.0.1:${from}
Listen 127.0.0.1:${http2}
${['mpm_event', 'authz_core', 'env', 'headers', 'http2', 'proxy', 'proxy_http'].map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
Protocols h2c http/1.1
StartServers 1
ThreadsPerChild 25
MaxRequestWorkers 25
DefaultRuntimeDir ${folder}
RequestHeader set X-Relayed yes
ProxyPreserveHost On
SetEnv proxy-sendchunked 1
ProxyPass / http://127.0.0.1:${to}/ keepalive=On
`,
  },
  Envoy: envoy('{}'),
  'Envoy with all forms allowed': envoy(
    `{ allow_chunked_length: true, accept_http_10: true, allow_custom_methods: true, enable_trailers: true, override_stream_error_on_invalid_http_message: true, header_key_format: ${casePreserved} }`,
  ),
}
