export interface PostfixParts {
  /** Contains `spool`, `data`, `mail`, `etc`, `key` and `cert`. */
  readonly folder: string;
  /** Port on loopback that accepts mail for its mailboxes. */
  readonly port: number;
  /** Port on loopback that accepts mail from clients that have authenticated over TLS. */
  readonly submissionPort: number;
  readonly mailboxes: readonly string[];
  /** The user that owns the mailboxes. */
  readonly userId: number;
}

export const MAIL_DOMAIN = 'b.test';
export const MESSAGE_BYTES_MAX = 8_000_000;
/** Recipients in one transaction. */
const RECIPIENTS_MAX = 5;

const mailboxTable = (mailboxes: readonly string[]): string =>
  mailboxes.map((name, at) => `{${name}@${MAIL_DOMAIN}=${at}/}`).join(' ');

export const mainCf = ({ folder, mailboxes, userId }: PostfixParts): string => `compatibility_level = 3.6
queue_directory = ${folder}/spool
data_directory = ${folder}/data
maillog_file = ${folder}/log
maillog_file_prefixes = ${folder}
myhostname = mx.${MAIL_DOMAIN}
mydestination =
mynetworks =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
alias_database =
smtputf8_enable = yes
message_size_limit = ${MESSAGE_BYTES_MAX}
smtpd_recipient_limit = ${RECIPIENTS_MAX}
smtpd_recipient_overshoot_limit = 100
smtpd_relay_restrictions = permit_sasl_authenticated, reject_unauth_destination
virtual_mailbox_domains = ${MAIL_DOMAIN}
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = inline:{ ${mailboxTable(mailboxes)} }
virtual_uid_maps = static:${userId}
virtual_gid_maps = static:${userId}
smtpd_tls_security_level = may
smtpd_tls_cert_file = ${folder}/cert
smtpd_tls_key_file = ${folder}/key
smtpd_tls_auth_only = yes
smtpd_sasl_path = smtpd
smtpd_sasl_local_domain = ${MAIL_DOMAIN}
cyrus_sasl_config_path = ${folder}/etc/sasl
`;

const SERVICES = [
  'pickup unix n - n 60 1 pickup',
  'cleanup unix n - n - 0 cleanup',
  'qmgr unix n - n 300 1 qmgr',
  'rewrite unix - - n - - trivial-rewrite',
  'bounce unix - - n - 0 bounce',
  'defer unix - - n - 0 bounce',
  'trace unix - - n - 0 bounce',
  'verify unix - - n - 1 verify',
  'flush unix n - n 1000 0 flush',
  'proxymap unix - - n - - proxymap',
  'smtp unix - - n - - smtp',
  'error unix - - n - - error',
  'retry unix - - n - - error',
  'virtual unix - n n - - virtual',
  'anvil unix - - n - 1 anvil',
  'scache unix - - n - 1 scache',
  'tlsmgr unix - - n 1000 1 tlsmgr',
  'postlog unix-dgram n - n - 1 postlogd',
];

const SUBMISSION = [
  '-o smtpd_tls_security_level=encrypt',
  '-o smtpd_sasl_auth_enable=yes',
  '-o smtpd_client_restrictions=permit_sasl_authenticated,reject',
];

export const masterCf = ({ port, submissionPort }: PostfixParts): string =>
  [
    `127.0.0.1:${port} inet n - n - - smtpd`,
    `127.0.0.1:${submissionPort} inet n - n - - smtpd`,
    ...SUBMISSION.map((option) => `  ${option}`),
    ...SERVICES,
    '',
  ].join('\n');

/** Placed next to the configuration, where Debian's Postfix looks for it whatever `cyrus_sasl_config_path` says. */
export const saslConf = (folder: string): string => `pwcheck_method: auxprop
auxprop_plugin: sasldb
sasldb_path: ${folder}/etc/sasl/sasldb2
mech_list: PLAIN LOGIN
`;
