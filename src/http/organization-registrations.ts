import type { Registration } from './endpoint.ts';
import { listAuditLogRoute } from './routes/audit/audit-log.ts';
import { addAuditorRoute, getAuditorRoute, listAuditorsRoute, removeAuditorRoute } from './routes/audit/auditors.ts';
import {
  createCheckpointRoute,
  getAuditProofRoute,
  getConsistencyProofRoute,
  listCheckpointsRoute,
} from './routes/audit/checkpoints.ts';
import { getDisclosureRoute } from './routes/audit/disclosures.ts';
import { exportAuditLogRoute } from './routes/audit/export.ts';
import { getKeyReportRoute } from './routes/audit/key-report.ts';
import { getMessageReportRoute } from './routes/audit/message-report.ts';
import { getTlogCheckpointRoute, getTlogTileRoute } from './routes/audit/tlog.ts';
import { getBacklogRoute } from './routes/destination-backlog.ts';
import { listDestinationsRoute, releaseDestinationRoute } from './routes/destinations.ts';
import { getErasureRoute, listErasuresRoute, previewErasureRoute, requestErasureRoute } from './routes/erasures.ts';
import {
  deleteCapturedMailRoute,
  deleteInboxRoute,
  getCapturedAttachmentRoute,
  getCapturedMailRoute,
  getRawCapturedMailRoute,
  listInboxRoute,
} from './routes/inbox.ts';
import {
  changeMemberRoute,
  createMemberLinkRoute,
  getMemberRoute,
  inviteMemberRoute,
  listMembersRoute,
  removeMemberRoute,
} from './routes/members/members.ts';
import { listMembershipsRoute, startOidcRoute } from './routes/members/oidc.ts';
import {
  addPasskeyRoute,
  createChallengeRoute,
  listMemberPasskeysRoute,
  listPasskeysRoute,
  removeMemberPasskeyRoute,
  removePasskeyRoute,
} from './routes/members/passkeys.ts';
import { provePresenceRoute } from './routes/members/presence.ts';
import { getSessionRoute, signInRoute, signOutRoute } from './routes/members/session.ts';
import { endMemberSessionRoute, getMemberSessionRoute, listMemberSessionsRoute } from './routes/members/sessions.ts';
import { getSignInMethodsRoute, mailSignInLinkRoute } from './routes/members/sign-in-ways.ts';
import {
  getOrganizationRoute,
  setContentsRolesRoute,
  setLegalHoldRoute,
  updateOrganizationRoute,
} from './routes/organization.ts';
import {
  getOrganizationReputationRoute,
  pauseBulkMailRoute,
  releaseOrganizationSendingRoute,
} from './routes/sender-reputation.ts';

/** Routes about an organization itself, in the order of the OpenAPI document: log, people, settings and captured mail. */
export const ORGANIZATION_REGISTRATIONS: Readonly<Record<string, Registration>> = {
  listAuditLogRoute,
  listCheckpointsRoute,
  createCheckpointRoute,
  getAuditProofRoute,
  getDisclosureRoute,
  getConsistencyProofRoute,
  exportAuditLogRoute,
  getTlogCheckpointRoute,
  getTlogTileRoute,
  getKeyReportRoute,
  getMessageReportRoute,
  addAuditorRoute,
  listAuditorsRoute,
  getAuditorRoute,
  removeAuditorRoute,
  requestErasureRoute,
  previewErasureRoute,
  listErasuresRoute,
  getErasureRoute,
  getOrganizationRoute,
  getOrganizationReputationRoute,
  updateOrganizationRoute,
  setLegalHoldRoute,
  setContentsRolesRoute,
  releaseOrganizationSendingRoute,
  pauseBulkMailRoute,
  signInRoute,
  createChallengeRoute,
  mailSignInLinkRoute,
  startOidcRoute,
  listMembershipsRoute,
  getSignInMethodsRoute,
  getSessionRoute,
  signOutRoute,
  provePresenceRoute,
  listPasskeysRoute,
  addPasskeyRoute,
  removePasskeyRoute,
  inviteMemberRoute,
  listMembersRoute,
  getMemberRoute,
  changeMemberRoute,
  removeMemberRoute,
  createMemberLinkRoute,
  listMemberPasskeysRoute,
  removeMemberPasskeyRoute,
  listMemberSessionsRoute,
  getMemberSessionRoute,
  endMemberSessionRoute,
  listInboxRoute,
  getCapturedMailRoute,
  getRawCapturedMailRoute,
  getCapturedAttachmentRoute,
  deleteInboxRoute,
  deleteCapturedMailRoute,
  listDestinationsRoute,
  getBacklogRoute,
  releaseDestinationRoute,
};
