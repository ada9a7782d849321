import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
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
