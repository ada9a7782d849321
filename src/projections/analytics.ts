import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { escapeIdentifier, escapeLiteral, type Pool } from 'pg';
import type { System } from '../lib/async/async.ts';

/** Database roles of people and programs that only read. */

const ROLE_BYTES = 8;
const PASSWORD_BYTES = 32;
const SALT_BYTES = 16;
/** PostgreSQL's own number of SCRAM iterations. */
const ITERATIONS = 4096;
/** A transaction that is forgotten open keeps old rows from being removed. */
const IDLE_IN_TRANSACTION_SECONDS = 60;

/** The SCRAM verifier that the server stores (RFC 5802 §3), so that the password never appears in its statement log. */
const scramVerifier = (password: string, salt: Uint8Array): string => {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const hmac = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const saltText = Buffer.from(salt).toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${saltText}$${storedKey}:${hmac('Server Key').toString('base64')}`;
};

interface NewReader {
  /** The role's name begins with it. */
  readonly kind: string;
  /** The only schema that its session looks for tables in. */
  readonly schema: string;
  /** Maximum number of concurrent sessions. */
  readonly connections: number;
  /** Time-out of a statement. A session may change it for itself. */
  readonly timeoutSeconds: number;
}

export interface ReaderRole {
  readonly role: string;
  readonly password: string;
  /** Statements that create it. Run them in the transaction that gives it its rights. */
  readonly sql: string;
}

/** A role that may connect and nothing else; its session begins read-only, with a time limit. */
export const newReaderRole = (
  system: Pick<System, 'randomBytes'>,
  { kind, schema, connections, timeoutSeconds }: NewReader,
): ReaderRole => {
  // Names of roles are seen by all roles of a server: this one says nothing.
  const role = `${kind}_${Buffer.from(system.randomBytes(ROLE_BYTES)).toString('hex')}`;
  const password = Buffer.from(system.randomBytes(PASSWORD_BYTES)).toString('base64url');
  const verifier = scramVerifier(password, system.randomBytes(SALT_BYTES));
  const id = escapeIdentifier(role);
  const settings = {
    search_path: schema,
    default_transaction_read_only: 'on',
    statement_timeout: `${timeoutSeconds}s`,
    idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_SECONDS}s`,
  };
  // Our own role becomes a member so that it may end its sessions.
  const sql = `
    create role ${id} login noinherit nosuperuser nocreatedb nocreaterole noreplication nobypassrls
      connection limit ${connections} password ${escapeLiteral(verifier)};
    do $$ begin
      if not has_database_privilege(${escapeLiteral(role)}, current_database(), 'connect') then
        execute format('grant connect on database %I to ${role}', current_database());
      end if;
      ${Object.entries(settings)
        .map(
          ([key, value]) =>
            `execute format('alter role ${role} in database %I set ${key} = %L', current_database(), '${value}');`,
        )
        .join('\n      ')}
    end $$;
    grant ${id} to current_user;`;
  return { role, password, sql };
};

/** Ends a role's sessions and drops it. */
export const dropReaderRole = async (pool: Pool, role: string): Promise<void> => {
  const id = escapeIdentifier(role);
  await pool.query(`alter role ${id} nologin`);
  await pool.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role]);
  await pool.query(`drop owned by ${id}; drop role ${id}`);
};

/**
 * The schema `analytics`, which organizations' analysts read with their own programs, and the database roles that may.
 * A role has no right but to read its views, and `vault.analysts` names the organization whose rows they show it.
 */

/** Creates the schema. */
export const VIEWS = readFileSync(new URL('./analytics.sql', import.meta.url), 'utf8');
/** Recorded with the schema: it is created again when this differs. */
export const VIEWS_DIGEST = createHash('sha256').update(VIEWS).digest('hex');

/** Ends analysts' sessions, whose locks would hold up what replaces tables or views. Their programs connect again. */
export const END_ANALYSES = `
  select pg_terminate_backend(s.pid)
  from pg_stat_activity s join vault.analysts a on a.role = s.usename
  where s.datname = current_database() and pg_has_role(current_user, s.usesysid, 'usage')`;

interface NewAnalyst {
  readonly organizationId: string;
  /** Person or tool that uses it. */
  readonly name: string;
  /** Maximum number of concurrent sessions. */
  readonly connections: number;
  /** Time-out of a statement. A session may change it for itself. */
  readonly timeoutSeconds: number;
  readonly createdBy: string;
}

interface Analyst {
  readonly role: string;
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: string;
  readonly createdBy: string;
  /** false: the database was restored on a server without this role. */
  readonly exists: boolean;
}

/**
 * Creates a role, all or nothing. It may connect and read the views.
 * @throws the database's error `42501`: our own role may not create roles.
 */
export const createAnalyst = async (
  { pool, system }: { readonly pool: Pool; readonly system: System },
  { organizationId, name, connections, timeoutSeconds, createdBy }: NewAnalyst,
): Promise<{ readonly role: string; readonly password: string }> => {
  const { role, password, sql } = newReaderRole(system, {
    kind: 'analyst',
    schema: 'analytics',
    connections,
    timeoutSeconds,
  });
  const row = [role, organizationId, name, createdBy].map(escapeLiteral).join(', ');
  // One message of several statements is one transaction.
  await pool.query(`
    ${sql}
    insert into vault.analysts (role, organization_id, name, created_by) values (${row})`);
  return { role, password };
};

const LIST = `
  select role, organization_id as "organizationId", name, created_at as "createdAt", created_by as "createdBy",
    exists (select from pg_roles r where r.rolname = a.role) as exists
  from vault.analysts a
  where $1::text is null or organization_id = $1
  order by created_at, role`;

/** @param organizationId null: of all. */
export const listAnalysts = async (pool: Pool, organizationId: string | null): Promise<readonly Analyst[]> => {
  const { rows } = await pool.query<Omit<Analyst, 'createdAt'> & { readonly createdAt: Date }>(LIST, [organizationId]);
  return rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }));
};

/** Ends a role's sessions and drops it. @returns false if it is not an analyst. */
export const removeAnalyst = async (pool: Pool, role: string): Promise<boolean> => {
  const found = (await listAnalysts(pool, null)).find((each) => each.role === role);
  if (found === undefined) return false;
  // From here on it sees nothing, whatever becomes of its sessions.
  if (found.exists) await pool.query(`alter role ${escapeIdentifier(role)} nologin`);
  await pool.query('delete from vault.analysts where role = $1', [role]);
  if (found.exists) await dropReaderRole(pool, role);
  return true;
};
