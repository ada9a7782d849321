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

/** Everything a scenario plays with: real programs, a load on them, and those who see what comes out. */
export interface World {
  readonly programs: Programs;
  readonly load: Load;
  /** Of an admin, the one that the load is sent with. */
  readonly key: string;
  readonly sink: SmtpSink;
  readonly receiver: WebhookReceiver;
  /** Whom the programs ask; it knows the records of the domain that the load is sent from. */
  readonly dns: TestNameServer;
  readonly disturbances: Disturbances;
  /** Settings by which an observer reaches the same log and database, past any fault. */
  readonly observed: Environment;
  /** The database's process where it is the world's own. @throws {Error} it is not running. */
  postmasterPid(): Promise<number>;
  close(): Promise<void>;
}

/** Where the engines of a world are, as they are. */
export interface Addresses {
  /** Absent: built in. */
  readonly databaseUrl?: string;
  readonly mailUrl: string;
  readonly webhookUrl: string;
}

export interface WorldOptions {
  /** The program on its built-in database, in one process, instead of one database of the shared server. */
  readonly builtIn?: boolean;
  /** PostgreSQL (administrator's URL) to make the world's database on, in place of the shared server. */
  readonly postgresUrl?: string;
  /** Settings of the log that an observer and the programs have in common: EVENTSTORE_URL. */
  readonly log?: Environment;
  /** Settings of all programs, which win: this is where proxies come in. */
  env?(addresses: Addresses): Environment | Promise<Environment>;
  /** What webhooks are posted to instead of the receiver itself. */
  webhookUrl?(receiverUrl: string): string | Promise<string>;
  /** Settings of each program by its name. Default: one, `service`, with all roles. */
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

/** A built-in database outlives a program that was killed. */
const killDatabaseIn = async (folder: string): Promise<void> => {
  const pid = await pidIn(folder).catch(() => 0);
  if (await isPostgres(pid)) process.kill(pid, 'SIGQUIT');
};

/** A world with nothing running in it yet: call `programs.start()`. */
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
