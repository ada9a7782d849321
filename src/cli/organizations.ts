import { createOrganization, resumeOrganization, setCeilings, suspendOrganization } from '../commands/organization.ts';
import { readDirectory } from '../composition/first-start.ts';
import { type OperatorCommand, required } from './command.ts';
import { ceilingsOf } from './key-options.ts';
import { operatorHost, operatorOrigin, reasonIn } from './operator-origin.ts';

export const createOrganizationCommand: OperatorCommand = {
  name: 'organizations create',
  usage: '--name NAME [--send N] [--read N] [--manage N]',
  summary: 'creates an organization; the numbers are the highest limits per minute of its keys',
  run: async ({ context }, invocation) => {
    const name = required(invocation, 'name');
    const made = { name, ceilings: ceilingsOf(invocation), operator: operatorHost() };
    return { organization_id: await createOrganization(context, made), name };
  },
};

export const setCeilingsCommand: OperatorCommand = {
  name: 'organizations set-ceilings',
  usage: '--organization ORG_ID [--send N] [--read N] [--manage N]',
  summary: 'sets the highest limits per minute of its keys; an omitted kind is unlimited',
  run: async ({ context }, invocation) => {
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const ceilings = ceilingsOf(invocation);
    await setCeilings(context, origin, ceilings);
    return { organization_id: origin.organizationId, ceilings };
  },
};

export const suspendOrganizationCommand: OperatorCommand = {
  name: 'organizations suspend',
  usage: '--organization ORG_ID --reason TEXT',
  summary: 'stops all mail of an organization and disables its tracked links; it can read the reason',
  run: async ({ context }, invocation) => {
    const reason = reasonIn(invocation);
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    const { suspension } = await suspendOrganization(context, origin, reason);
    return { organization_id: origin.organizationId, suspension };
  },
};

export const resumeOrganizationCommand: OperatorCommand = {
  name: 'organizations resume',
  usage: '--organization ORG_ID --reason TEXT',
  summary: 'lets a suspended organization send again, and sends the mail that was held',
  run: async ({ context }, invocation) => {
    const reason = reasonIn(invocation);
    const origin = await operatorOrigin(context, required(invocation, 'organization'));
    await resumeOrganization(context, origin, reason);
    return { organization_id: origin.organizationId, suspension: null };
  },
};

export const listOrganizationsCommand: OperatorCommand = {
  name: 'organizations list',
  usage: '',
  summary: 'lists the organizations',
  run: async ({ context }) => {
    const { organizations } = await readDirectory(context);
    return [...organizations.values()].flatMap((each) =>
      each.status === 'absent'
        ? []
        : [
            {
              organization_id: each.organizationId,
              name: each.settings.name,
              ceilings: each.ceilings,
              suspension: each.suspension,
            },
          ],
    );
  },
};
