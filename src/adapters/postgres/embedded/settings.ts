/** How the embedded server is run: given on its command line at every start, so that an upgrade brings its own. */
export type Settings = Readonly<Record<string, string>>;

export const EMBEDDED_SETTINGS: Settings = {
  listen_addresses: '127.0.0.1',
  // A socket file needs a short path, which a data directory need not have.
  unix_socket_directories: '',
  // What was answered with 202 survives a power cut.
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // More costs memory, fewer refuses a role its pool: all pools of one process together stay below.
  max_connections: '100',
  shared_buffers: '128MB',
  // A larger log makes recovery after a crash longer, a smaller one makes checkpoints (and full-page writes) frequent.
  max_wal_size: '1GB',
  checkpoint_timeout: '15min',
  // Read models change each row a few times: at a thousand messages a second, a minute's dead rows cost a third of all.
  autovacuum_naptime: '5s',
  // Every query goes along an index whatever the statistics say. The default samples ten times the rows, for tables that
  // grow all the time: at a thousand messages a second, an eighth of the server's work.
  default_statistics_target: '10',
  // No library for it is shipped, and no statement of ours gains from it.
  jit: 'off',
  // A killed process's locks and statements end within this time; shorter costs a system call per running statement.
  client_connection_check_interval: '1s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  // The server's own log tells of its life; failed statements are told to whoever sent them, and would hold addresses.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
};

export const asArguments = (settings: Settings): readonly string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
