import { createAnalyst, listAnalysts, removeAnalyst } from '../projections/analytics.ts';
import { type OperatorCommand, optional, optionalCount, required } from './command.ts';
import { CommandFailed, UsageError } from './failures.ts';
import { operatorOrigin } from './operator-origin.ts';

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
export const isForbidden = (error: unknown): boolean => Object(error).code === '42501';

export const mayNotCreateRoles = (databaseUrl: string): CommandFailed => {
  const user = decodeURIComponent(new URL(databaseUrl).username);
  return new CommandFailed(
    `the database's user ${user} may not create roles: run \`alter role "${user}" createrole\` as an administrator`,
  );
};

/** Connection URL for a role. The password is passed separately. */
export const connectionUrl = (databaseUrl: string, role: string): string =>
  Object.assign(new URL(databaseUrl), { username: role, password: '' }).href;

export const createAnalystCommand: OperatorCommand = {
  name: 'analysts create',
  usage: '--organization ORG_ID --name NAME [--timeout SECONDS] [--connections N]',
  summary:
    "creates a database role that reads the organization's rows of the schema analytics; prints its password once",
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
    throw new UsageError(`there is no analyst ${role}: \`npm run outbox -- analysts list\` lists them`);
  },
};
