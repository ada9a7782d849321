interface Variable {
  readonly name: string;
  /** As it would be written; empty: none. */
  readonly default: string;
  readonly meaning: string;
}

/** Every variable this service reads: the table of docs/configuration.md and `.env.example` are compared with it. */
export const CONFIGURATION: readonly Variable[] = [
  {
    name: 'DATABASE_URL',
    default: '',
    meaning: '`postgres://…`, version 15 or newer; built-in PostgreSQL in `DATA_DIR` when absent',
  },
  {
    name: 'EVENTSTORE_URL',
    default: '',
    meaning: '`esdb://…` (EventStoreDB, KurrentDB); log in PostgreSQL when absent',
  },
  { name: 'REDIS_URL', default: '', meaning: '`redis://…`; queue and shared rate limits in PostgreSQL when absent' },
  {
    name: 'MAIL_URL',
    default: 'capture:',
    meaning: '`capture:` (nothing leaves), `smtp://user:password@host:587`, `smtps://…`, `direct:`',
  },
  { name: 'SOURCE_ADDRESSES', default: '', meaning: 'IPs that `direct:` sends from, by commas; any when absent' },
  { name: 'ALLOW_PRIVATE_MX', default: 'false', meaning: '`true`: `direct:` sends to private networks too' },
  { name: 'ROLES', default: 'api,projections,workers', meaning: 'what this process does: any of these' },
  { name: 'HOST', default: '127.0.0.1', meaning: 'address the API listens on' },
  { name: 'PORT', default: '3000', meaning: 'port the API listens on; `0` picks a free one' },
  { name: 'DATA_DIR', default: './data', meaning: 'folder of the built-in PostgreSQL and the secret key' },
  {
    name: 'PUBLIC_URL',
    default: '',
    meaning:
      'address of the API as clients and recipients see it; needed once real mail leaves; else `http://HOST:PORT`',
  },
  {
    name: 'TRUSTED_PROXIES',
    default: '',
    meaning: 'addresses or networks whose `X-Forwarded-For` is believed, by commas',
  },
  {
    name: 'SECRET_KEY',
    default: '',
    meaning: 'encrypts secrets in the database; made in `DATA_DIR` for the built-in one',
  },
  {
    name: 'PREVIOUS_SECRET_KEY',
    default: '',
    meaning: 'a second key that is accepted while `SECRET_KEY` is rotated: the previous one, or the next',
  },
  {
    name: 'ENCRYPT_CONTENTS',
    default: 'false',
    meaning: '`true` encrypts the contents of new messages in the database under `SECRET_KEY`',
  },
  { name: 'EHLO_NAME', default: '', meaning: 'name given to mail servers; the name of the machine when absent' },
  {
    name: 'DNS_SERVERS',
    default: '',
    meaning: 'trusted resolvers, `address[:port]` by commas; else those of the machine',
  },
  {
    name: 'BOUNCE_DOMAIN',
    default: '',
    meaning: 'where undelivered mail and complaints come back to; its MX is this service; to the sender when absent',
  },
  { name: 'BOUNCE_PORT', default: '25', meaning: 'port that receives what comes back; `0` picks a free one' },
  {
    name: 'POSTMASTER',
    default: '',
    meaning: 'address that mail to `postmaster@` the bounce domain is passed on to; it is refused when absent',
  },
  {
    name: 'BOUNCE_RATES',
    default: '2,4,5',
    meaning: 'percent of bulk recipients without a mailbox that warn, slow down and pause a domain; or `off`',
  },
  {
    name: 'COMPLAINT_RATES',
    default: '0.08,0.2,0.3',
    meaning: 'percent of bulk recipients complaining that warn, slow down and pause a domain; or `off`',
  },
  { name: 'LOG_LEVEL', default: 'info', meaning: '`debug`, `info`, `warn`, `error` or `silent`' },
  {
    name: 'OUTBOX_ADMIN_KEY',
    default: '',
    meaning: 'first admin key (`npm run outbox -- keys generate`); printed when absent',
  },
  {
    name: 'SUBMISSION_PORT',
    default: '',
    meaning: 'port where mail is taken by SMTP, such as `587`; not taken when absent',
  },
  {
    name: 'SUBMISSION_TLS_PORT',
    default: '',
    meaning: 'the same with TLS from the first byte on, such as `465`; needs the certificate',
  },
  { name: 'TLS_CERT_FILE', default: '', meaning: 'certificate chain (PEM) of the mail taken by SMTP, for STARTTLS' },
  { name: 'TLS_KEY_FILE', default: '', meaning: 'private key (PEM) of that certificate' },
  { name: 'METRICS_PORT', default: '', meaning: 'port of `/metrics`; not served when absent' },
  { name: 'METRICS_HOST', default: '127.0.0.1', meaning: 'address that `/metrics` is served on' },
];
