import { createAnalystCommand, listAnalystsCommand, removeAnalystCommand } from './analysts.ts';
import { checkAuditCommand, rotateAuditKeyCommand, verifyAuditCommand } from './audit/commands.ts';
import { reopenAuditLogCommand } from './audit/reopen.ts';
import { backupCommand, restoreCommand } from './backup.ts';
import type { Command } from './command.ts';
import { createCompletionCommand } from './completion.ts';
import { CUSTOMER_COMMANDS } from './customer/commands.ts';
import { doctorCommand } from './doctor.ts';
import { createDomainCommand, listDomainsCommand, verifyDomainCommand } from './domains.ts';
import {
  createKeyCommand,
  deleteKeyCommand,
  generateKeyCommand,
  listKeysCommand,
  revokeKeyCommand,
  rotateKeyCommand,
  updateKeyCommand,
} from './keys.ts';
import {
  attachPartitionCommand,
  copyLogCommand,
  detachPartitionCommand,
  listPartitionsCommand,
  reencryptCommand,
} from './maintenance.ts';
import {
  grantOperatorCommand,
  inviteMemberCommand,
  linkMemberCommand,
  listMembersCommand,
  removeMemberCommand,
  withdrawOperatorCommand,
} from './members.ts';
import {
  createOrganizationCommand,
  listOrganizationsCommand,
  resumeOrganizationCommand,
  setCeilingsCommand,
  suspendOrganizationCommand,
} from './organizations.ts';
import { listProjectionsCommand, rebuildProjectionCommand, retryParkedCommand } from './projections.ts';
import { dropReplayCommand, listReplaysCommand, replayCommand } from './replay.ts';
import { witnessCommand } from './witness/command.ts';

export const COMMANDS: readonly Command[] = [
  createOrganizationCommand,
  setCeilingsCommand,
  suspendOrganizationCommand,
  resumeOrganizationCommand,
  listOrganizationsCommand,
  createDomainCommand,
  verifyDomainCommand,
  listDomainsCommand,
  generateKeyCommand,
  createKeyCommand,
  rotateKeyCommand,
  updateKeyCommand,
  revokeKeyCommand,
  deleteKeyCommand,
  listKeysCommand,
  inviteMemberCommand,
  linkMemberCommand,
  listMembersCommand,
  removeMemberCommand,
  grantOperatorCommand,
  withdrawOperatorCommand,
  createAnalystCommand,
  listAnalystsCommand,
  removeAnalystCommand,
  listProjectionsCommand,
  rebuildProjectionCommand,
  retryParkedCommand,
  listReplaysCommand,
  dropReplayCommand,
  replayCommand,
  copyLogCommand,
  listPartitionsCommand,
  detachPartitionCommand,
  attachPartitionCommand,
  backupCommand,
  restoreCommand,
  reencryptCommand,
  verifyAuditCommand,
  rotateAuditKeyCommand,
  reopenAuditLogCommand,
  witnessCommand,
  checkAuditCommand,
  doctorCommand,
  createCompletionCommand(() => COMMANDS),
  ...CUSTOMER_COMMANDS,
];
