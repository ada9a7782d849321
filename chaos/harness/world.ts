import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openOperator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';
import { startNameServer, type TestNameServer } from '../../test/support/name-server.ts';
import { createDisturbances, type Disturbances } from './disturbances.ts';
import { newFolder } from './folder.ts';
import { createLoad, type Load } from './load.ts';
import { newDatabase, sharedPostgres } from './postgres-server.ts';
import { createPrograms, type Environment, type Programs } from './programs.ts';
import { provision, SENDER } from './provision.ts';
import { openSmtpSink, type SmtpSink } from './smtp-sink.ts';
import { openWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** The surroundings of a scenario: real programs, a load, and observers of the results. */
export interface World {
  readonly programs: Programs;
  readonly load: Load;
  /** An admin key, used by the load. */
  readonly key: string;
  readonly sink: SmtpSink;
  readonly receiver: WebhookReceiver;
  /** Name server of the programs. It has the records of the load's domain. */
  readonly dns: TestNameServer;
  readonly disturbances: Disturbances;
  /** Settings with which an observer reaches the same log and database, unaffected by faults. */
  readonly observed: Environment;
  /** Process id of the world's own database. @throws {Error} if it is not running. */
  postmasterPid(): Promise<number>;
  close(): Promise<void>;
}

/** Addresses of a world's engines, without proxies. */
interface Addresses {
  /** Absent: built-in database. */
  readonly databaseUrl?: string;
  readonly mailUrl: string;
  readonly webhookUrl: string;
}

export interface WorldOptions {
  /** Uses one process with its built-in database instead of a database on the shared server. */
  readonly builtIn?: boolean;
  /** Administrator URL of a PostgreSQL server to use instead of the shared one. */
  readonly postgresUrl?: string;
  /** Log settings shared by observers and programs: EVENTSTORE_URL. */
  readonly log?: Environment;
  /** Settings for all programs, with the highest precedence. Scenarios insert proxies here. */
  env?(addresses: Addresses): Environment | Promise<Environment>;
  /** Webhook target to use instead of the receiver itself. */
  webhookUrl?(receiverUrl: string): string | Promise<string>;
  /** Settings by program name. Default: one, `service`, with all roles. */
  readonly programs?: Readonly<Record<string, Environment>>;
}

const SECRET_KEY = 'a secret key for trials, thirty-two characters or more';
/** Short leases, and webhooks to this machine (`chaos/service-with-faults.ts`). */
const TRIAL = { OUTBOX_TRIAL: 'quick' };

const openDatabase = async ({ builtIn = false, postgresUrl }: WorldOptions) =>
  builtIn ? undefined : newDatabase(postgresUrl ?? (await sharedPostgres()).url);

const pidIn = async (folder: string): Promise<number> =>
  Number((await readFile(join(folder, 'postgresql', 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);

const isPostgres = (pid: number): Promise<boolean> =>
  readFile(`/proc/${pid}/comm`, 'utf8').then(
    (name) => name.startsWith('postgres'),
    () => false,
  );

/** A built-in database outlives a killed program. */
const killDatabaseIn = async (folder: string): Promise<void> => {
  const pid = await pidIn(folder).catch(() => 0);
  if (await isPostgres(pid)) process.kill(pid, 'SIGQUIT');
};

/** Opens a world without running programs; `programs.start()` starts them. */
export const openWorld = async (options: WorldOptions = {}): Promise<World> => {
  const { log = {}, programs: environments = { service: {} } } = options;
  const folder = await newFolder();
  const sink = await openSmtpSink();
  const receiver = await openWebhookReceiver();
  const dns = await startNameServer();
  const database = await openDatabase(options);
  const webhookUrl = (await options.webhookUrl?.(receiver.url)) ?? receiver.url;
  const addresses: Addresses = {
    ...(database === undefined ? {} : { databaseUrl: database.url }),
    mailUrl: sink.url,
    webhookUrl,
  };
  const observed: Environment = {
    DATA_DIR: folder.path,
    MAIL_URL: sink.url,
    LOG_LEVEL: 'error',
    DNS_SERVERS: dns.text,
    ...(database === undefined ? {} : { DATABASE_URL: database.url, SECRET_KEY }),
    ...log,
  };
  const operator = await openOperator(readConfig(observed), { mayBeNew: true });
  const key = await provision(operator.context, { webhookUrl, dns }).finally(operator.close);

  const common = { ...observed, LOG_LEVEL: 'warn', ...TRIAL, ...(await options.env?.(addresses)) };
  const disturbances = createDisturbances();
  const programs = createPrograms({
    dataDir: folder.path,
    environments: Object.fromEntries(Object.entries(environments).map(([name, own]) => [name, { ...common, ...own }])),
    disturbances,
  });
  return {
    programs,
    key,
    sink,
    receiver,
    dns,
    disturbances,
    observed,
    load: createLoad({ baseUrl: programs.baseUrl, key, from: SENDER }),
    postmasterPid: () => pidIn(folder.path),
    close: async () => {
      await programs.end('SIGTERM');
      await Promise.all([sink.close(), receiver.close(), dns.close(), killDatabaseIn(folder.path)]);
      await database?.drop();
      await folder.remove();
    },
  };
};
