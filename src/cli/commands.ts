import {
  adoptEventsCommand,
  checkAuditCommand,
  reopenAuditLogCommand,
  rotateAuditKeyCommand,
  verifyAuditCommand,
} from './audit/commands.ts';
import { backupCommand, restoreCommand } from './backup.ts';
import type { Command } from './command.ts';
import { createCompletionCommand } from './completion.ts';
import { CUSTOMER_COMMANDS } from './customer/commands.ts';
import { doctorCommand } from './doctor.ts';
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
  listProjectionsCommand,
  rebuildProjectionCommand,
  reencryptCommand,
  retryParkedCommand,
} from './maintenance.ts';
import {
  createDomainCommand,
  createOrganizationCommand,
  grantOperatorCommand,
  inviteMemberCommand,
  linkMemberCommand,
  listDomainsCommand,
  listMembersCommand,
  listOrganizationsCommand,
  removeMemberCommand,
  resumeOrganizationCommand,
  setCeilingsCommand,
  suspendOrganizationCommand,
  verifyDomainCommand,
  withdrawOperatorCommand,
} from './organizations.ts';
import { choosePlanCommand, listChosenPlansCommand, listPlansCommand } from './plans.ts';
import {
  createAnalystCommand,
  dropReplayCommand,
  listAnalystsCommand,
  listReplaysCommand,
  removeAnalystCommand,
  replayCommand,
} from './replay.ts';
import { listSourcesCommand } from './sources.ts';
import { witnessCommand } from './witness/command.ts';

export const OPERATOR_COMMANDS: readonly Command[] = [
  createOrganizationCommand,
  setCeilingsCommand,
  suspendOrganizationCommand,
  resumeOrganizationCommand,
  listOrganizationsCommand,
  listPlansCommand,
  listChosenPlansCommand,
  choosePlanCommand,
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
  listSourcesCommand,
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
  adoptEventsCommand,
  reopenAuditLogCommand,
  witnessCommand,
  checkAuditCommand,
  doctorCommand,
];

export const COMMANDS: readonly Command[] = [
  ...OPERATOR_COMMANDS,
  createCompletionCommand(() => COMMANDS),
  ...CUSTOMER_COMMANDS,
];
