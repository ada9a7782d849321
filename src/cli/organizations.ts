import { createOrganization } from '../commands/organization/create-organization.ts';
import { readDirectory } from '../composition/directory.ts';
import type { RateLimits } from '../domain/rate-limits.ts';
import { type Invocation, type OperatorCommand, optionalCount, required } from './command.ts';

export const limitOptions = {
  send: { type: 'string' },
  read: { type: 'string' },
  manage: { type: 'string' },
} as const;

/** Limits a minute, of those that were given. */
export const limitsOf = (invocation: Invocation): RateLimits => {
  const [send, read, manage] = (['send', 'read', 'manage'] as const).map((kind) => optionalCount(invocation, kind));
  return {
    ...(send === undefined ? {} : { send }),
    ...(read === undefined ? {} : { read }),
    ...(manage === undefined ? {} : { manage }),
  };
};

export const createOrganizationCommand: OperatorCommand = {
  name: 'organizations create',
  usage: '--name NAME [--send N] [--read N] [--manage N]',
  summary: 'makes an organization; the numbers are the highest limits a minute its keys may have',
  options: { name: { type: 'string' }, ...limitOptions },
  needs: 'engines',
  run: async ({ context }, invocation) => {
    const name = required(invocation, 'name');
    const limits = limitsOf(invocation);
    const ceilings = Object.keys(limits).length === 0 ? null : limits;
    return { organization_id: await createOrganization(context, { name, ceilings }), name };
  },
};

export const listOrganizationsCommand: OperatorCommand = {
  name: 'organizations list',
  usage: '',
  summary: 'lists the organizations',
  options: {},
  needs: 'engines',
  run: async ({ context }) => {
    const { organizations } = await readDirectory(context.store);
    return [...organizations.values()].flatMap((each) =>
      each.status === 'absent'
        ? []
        : [{ organization_id: each.organizationId, name: each.name, ceilings: each.ceilings }],
    );
  },
};
