import type { Operator } from '../composition/open-operator.ts';
import { leafIn, type Moment } from '../domain/audit/leaf.ts';
import { EventsDetached } from '../domain/kernel/event-store.ts';
import { parseTime } from '../http/fields.ts';
import { createPool } from '../lib/postgres/postgres.ts';
import { createAnalyst, listAnalysts, removeAnalyst } from '../projections/analytics.ts';
import { ChangedLog } from '../projections/audit/tree.ts';
import {
  dropReplay,
  isReplaySchema,
  listReplays,
  type Replay,
  ReplayRefused,
  type ReplaySchema,
  replay,
} from '../projections/replay.ts';
import { RUNNER_CONNECTIONS } from '../projections/runner.ts';
import { type Invocation, type OperatorCommand, optional, optionalCount, required } from './command.ts';
import { operatorOrigin } from './operator-origin.ts';
import { CommandFailed, UsageError } from './terminal.ts';

const CONNECTIONS_DEFAULT = 5;
/** Longer: old rows of busy tables cannot be vacuumed. Shorter: large reports are cut off. */
const TIMEOUT_SECONDS_DEFAULT = 30;
const TIMEOUT_SECONDS_MAX = 3600;
const CONNECTIONS_MAX = 100;

const atMost = (option: string, value: number, limit: number): number => {
  if (value > limit) throw new UsageError(`--${option} must be at most ${limit}`);
  return value;
};

/** True for `insufficient_privilege`. */
const isForbidden = (error: unknown): boolean => Object(error).code === '42501';

const mayNotCreateRoles = (databaseUrl: string): CommandFailed => {
  const user = decodeURIComponent(new URL(databaseUrl).username);
  return new CommandFailed(
    `the database user ${user} may not create roles: run \`alter role "${user}" createrole\` as an administrator`,
  );
};

/** Connection URL for a role. The password is passed separately. */
const connectionUrl = (databaseUrl: string, role: string): string =>
  Object.assign(new URL(databaseUrl), { username: role, password: '' }).href;

export const createAnalystCommand: OperatorCommand = {
  name: 'analysts create',
  usage: '--organization ORG_ID --name NAME [--timeout SECONDS] [--connections N]',
  summary:
    "creates a database role that can read an organization's rows in the schema analytics, and prints its password once",
  run: async ({ context, pool, system, databaseUrl }, invocation) => {
    const { organizationId, operator } = await operatorOrigin(context, required(invocation, 'organization'));
    const timeoutSeconds = optionalCount(invocation, 'timeout') ?? TIMEOUT_SECONDS_DEFAULT;
    const connections = optionalCount(invocation, 'connections') ?? CONNECTIONS_DEFAULT;
    const name = required(invocation, 'name');
    const { role, password } = await createAnalyst(
      { pool, system },
      {
        organizationId,
        name,
        timeoutSeconds: atMost('timeout', timeoutSeconds, TIMEOUT_SECONDS_MAX),
        connections: atMost('connections', connections, CONNECTIONS_MAX),
        createdBy: `${operator?.user}@${operator?.host}`,
      },
    ).catch((error: unknown) => {
      throw isForbidden(error) ? mayNotCreateRoles(databaseUrl) : error;
    });
    return {
      role,
      organization_id: organizationId,
      name,
      timeout_seconds: timeoutSeconds,
      connections,
      url: connectionUrl(databaseUrl, role),
      password,
    };
  },
};

export const listAnalystsCommand: OperatorCommand = {
  name: 'analysts list',
  usage: '[--organization ORG_ID]',
  summary: 'lists the database roles of analysts',
  run: async ({ pool }, invocation) =>
    (await listAnalysts(pool, optional(invocation, 'organization') ?? null)).map((each) => ({
      role: each.role,
      organization_id: each.organizationId,
      name: each.name,
      created_at: each.createdAt,
      created_by: each.createdBy,
      exists: each.exists,
    })),
};

export const removeAnalystCommand: OperatorCommand = {
  name: 'analysts remove',
  usage: '--role ROLE',
  summary: 'ends the sessions of an analyst and removes the role',
  run: async ({ pool }, invocation) => {
    const role = required(invocation, 'role');
    if (await removeAnalyst(pool, role)) return { role, removed: true };
    throw new UsageError(`analyst ${role} not found. List analysts with \`outbox analysts list\``);
  },
};

const schemaFrom = (name: string): ReplaySchema => {
  if (isReplaySchema(name)) return name;
  throw new UsageError(
    `'${name}' is not a valid name: use replay_ and up to 40 lower-case letters, digits or underscores, such as replay_march`,
  );
};

/** @throws {UsageError} */
const momentFrom = async ({ context, system }: Operator, invocation: Invocation): Promise<Moment> => {
  const until = required(invocation, 'until');
  const organization = optional(invocation, 'organization');
  const organizationId =
    organization === undefined ? null : (await operatorOrigin(context, organization)).organizationId;
  const leaf = leafIn(until);
  if (leaf !== null) {
    if (organizationId !== null) return { organizationId, leaf };
    throw new UsageError('leaf:<n> needs --organization: each organization has its own tree');
  }
  const time = parseTime(until);
  if (time === null) {
    throw new UsageError(
      `--until '${until}' is not valid: expected an ISO 8601 time such as 2026-01-31T12:00:00Z, or leaf:<leaf_index of an audit entry>`,
    );
  }
  if (time > system.now().toISOString()) throw new UsageError('--until must not be in the future');
  return { organizationId, time };
};

const fieldsOf = (made: Replay) => ({
  schema: made.schema,
  until: made.until,
  organization_id: made.organizationId,
  events: made.events,
  parked_events: made.parkedEvents,
  last_event_at: made.lastEventAt,
  role: made.role,
  created_at: made.createdAt,
});

/** Replaces an error that people can fix with a message without a stack trace. */
const withoutStack = (error: unknown, databaseUrl: string): unknown => {
  if (isForbidden(error)) return mayNotCreateRoles(databaseUrl);
  const isExpected = error instanceof ReplayRefused || error instanceof ChangedLog || error instanceof EventsDetached;
  return isExpected ? new CommandFailed(error.message) : error;
};

/** Aborts the work on Ctrl-C or a service manager's signal, so that it can clean up. */
const untilInterrupted = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const interrupted = new AbortController();
  const end = (): void => interrupted.abort(new CommandFailed('interrupted: everything was removed'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  try {
    return await work(interrupted.signal);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, end);
  }
};

export const replayCommand: OperatorCommand = {
  name: 'replay',
  usage: '--until TIME|leaf:N --into replay_NAME [--organization ORG_ID]',
  summary:
    "builds the read models of a past moment in a separate schema, creates a role that can read it, and prints the role's password once",
  run: async (operator, invocation, _, terminal) => {
    const { databaseUrl, log, logger, system } = operator;
    const into = schemaFrom(required(invocation, 'into'));
    const moment = await momentFrom(operator, invocation);
    // Its statements have no time limit.
    const pool = createPool({
      url: databaseUrl,
      name: 'replay',
      logger,
      max: RUNNER_CONNECTIONS,
      statementTimeoutMs: 0,
    });
    const bar = terminal.progress(into);
    try {
      const { password, ...made } = await untilInterrupted((signal) =>
        replay({
          pool,
          store: log,
          system,
          moment,
          into,
          signal,
          onProgress: ({ read, kept, readTo }) =>
            bar.at(read, undefined, `events read up to ${readTo}, ${kept} included`),
        }),
      );
      return { ...fieldsOf(made), url: connectionUrl(databaseUrl, made.role), password };
    } catch (error) {
      throw withoutStack(error, databaseUrl);
    } finally {
      bar.end();
      await pool.end();
    }
  },
};

export const listReplaysCommand: OperatorCommand = {
  name: 'replay list',
  usage: '',
  summary: 'lists the read models built by replay',
  run: async ({ pool }) => (await listReplays(pool)).map(fieldsOf),
};

export const dropReplayCommand: OperatorCommand = {
  name: 'replay drop',
  usage: 'replay_NAME',
  summary: 'drops read models built by replay, and their role',
  run: async ({ pool, databaseUrl }, { positionals: [name = ''] }) => {
    const schema = schemaFrom(name);
    await dropReplay(pool, schema).catch((error: unknown) => {
      throw withoutStack(error, databaseUrl);
    });
    return { schema, dropped: true };
  },
};
