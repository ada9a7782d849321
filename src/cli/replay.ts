import type { Operator } from '../composition/open-operator.ts';
import { leafIn, type Moment } from '../domain/audit/leaf.ts';
import { EventsDetached } from '../domain/kernel/event-store.ts';
import { parseTime } from '../http/fields.ts';
import { createPool } from '../lib/postgres/postgres.ts';
import { ChangedLog } from '../projections/audit/signed-checkpoints.ts';
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
import { connectionUrl, isForbidden, mayNotCreateRoles } from './analysts.ts';
import { type Invocation, type OperatorCommand, optional, required } from './command.ts';
import { CommandFailed, UsageError } from './failures.ts';
import { operatorOrigin } from './operator-origin.ts';

const schemaFrom = (name: string): ReplaySchema => {
  if (isReplaySchema(name)) return name;
  throw new UsageError(
    `'${name}' is not a name for it: replay_ and up to 40 lower-case letters, digits and underscores, such as replay_march`,
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
      `'${until}' is not a moment: give a time in ISO 8601, 2026-01-31T12:00:00Z, or leaf:<leaf_index of an audit entry>`,
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
  const end = (): void => interrupted.abort(new CommandFailed('interrupted: nothing is left of it'));
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
    'builds the read models of a point in time in a schema of its own, and a role that reads it; prints its password once',
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
            bar.at(read, undefined, `events read, to ${readTo}; ${kept} were there`),
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
  summary: 'lists the read models of moments',
  run: async ({ pool }) => (await listReplays(pool)).map(fieldsOf),
};

export const dropReplayCommand: OperatorCommand = {
  name: 'replay drop',
  usage: 'replay_NAME',
  summary: 'drops the read models of a moment, and their role',
  run: async ({ pool, databaseUrl }, { positionals: [name = ''] }) => {
    const schema = schemaFrom(name);
    await dropReplay(pool, schema).catch((error: unknown) => {
      throw withoutStack(error, databaseUrl);
    });
    return { schema, dropped: true };
  },
};
