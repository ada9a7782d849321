import { reopenAuditLog } from '../../commands/audit.ts';
import { type OperatorCommand, required } from '../command.ts';
import { operatorOrigin, reasonIn } from '../operator-origin.ts';

export const reopenAuditLogCommand: OperatorCommand = {
  name: 'audit reopen',
  usage: '--organization ORG_ID --reason TEXT',
  summary: 'lets the audit log of an organization be signed again after a restore, under another origin',
  run: async ({ context }, invocation) => {
    const tree = required(invocation, 'organization');
    const reason = reasonIn(invocation);
    const { origin, vkey } = await reopenAuditLog(context, await operatorOrigin(context, tree), { tree, reason });
    return { organization_id: tree, origin, verifier_key: vkey };
  },
};
