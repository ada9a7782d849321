import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { escapeIdentifier, escapeLiteral, type Pool } from 'pg';
import type { System } from '../lib/async/async.ts';
import { dropReaderRole, newReaderRole } from './reader-roles.ts';

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

export interface NewAnalyst {
  readonly organizationId: string;
  /** Person or tool that uses it. */
  readonly name: string;
  /** Maximum number of concurrent sessions. */
  readonly connections: number;
  /** Time-out of a statement. A session may change it for itself. */
  readonly timeoutSeconds: number;
  readonly createdBy: string;
}

export interface Analyst {
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
