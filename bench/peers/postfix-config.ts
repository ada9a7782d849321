export const NOBODY = 65_534;

export interface PostfixPlaces {
  /** Holds `spool` and `data`. */
  readonly folder: string;
  /** Loopback port that accepts mail. */
  readonly port: number;
}

/** Forwards mail, signed if a milter is given. Unsigned mail is not accepted then. */
export const relayLines = (relayPort: number, milter: string | null): string => `mydestination =
relayhost = [127.0.0.1]:${relayPort}
smtp_connection_cache_destinations = [127.0.0.1]:${relayPort}
${milter === null ? '' : `smtpd_milters = unix:${milter}\nmilter_default_action = tempfail\n`}`;

/** Stores mail for a domain in a maildir of an unprivileged user, like a mailbox server. */
export const maildirLines = (folder: string, domain: string): string => `mydestination =
virtual_mailbox_domains = ${domain}
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = static:box/
virtual_uid_maps = static:${NOBODY}
virtual_gid_maps = static:${NOBODY}
`;

/** Uses as many sessions and processes as the service. @param lines what happens to mail. */
export const mainCf = ({ folder }: PostfixPlaces, lines: string): string => `compatibility_level = 3.6
queue_directory = ${folder}/spool
data_directory = ${folder}/data
maillog_file = ${folder}/log
maillog_file_prefixes = ${folder}
myhostname = bench.example
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
alias_database =
disable_dns_lookups = yes
smtp_tls_security_level = none
default_destination_concurrency_limit = 50
initial_destination_concurrency = 50
default_process_limit = 100
smtpd_client_connection_count_limit = 0
in_flow_delay = 0
${lines}`;

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
  'virtual unix - n n - - virtual',
  'error unix - - n - - error',
  'retry unix - - n - - error',
  'anvil unix - - n - 1 anvil',
  'scache unix - - n - 1 scache',
  'tlsmgr unix - - n 1000 1 tlsmgr',
  'postlog unix-dgram n - n - 1 postlogd',
];

export const masterCf = ({ port }: PostfixPlaces): string =>
  [`127.0.0.1:${port} inet n - n - - smtpd`, ...SERVICES, ''].join('\n');
