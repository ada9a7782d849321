import type { Registration } from './endpoint.ts';
import { addAuditorRoute, getAuditorRoute, listAuditorsRoute, removeAuditorRoute } from './resources/audit/auditors.ts';
import {
  createCheckpointRoute,
  getAuditProofRoute,
  getConsistencyProofRoute,
  getTlogCheckpointRoute,
  getTlogTileRoute,
  listCheckpointsRoute,
} from './resources/audit/checkpoints.ts';
import { exportAuditLogRoute, getDisclosureRoute, listAuditLogRoute } from './resources/audit/log.ts';
import { getKeyReportRoute, getMessageReportRoute } from './resources/audit/reports.ts';
import { getBacklogRoute, listDestinationsRoute, releaseDestinationRoute } from './resources/destinations.ts';
import {
  getOrganizationReputationRoute,
  pauseBulkMailRoute,
  releaseOrganizationSendingRoute,
} from './resources/domains/reputation.ts';
import { getErasureRoute, listErasuresRoute, previewErasureRoute, requestErasureRoute } from './resources/erasures.ts';
import {
  deleteCapturedMailRoute,
  deleteInboxRoute,
  getCapturedAttachmentRoute,
  getCapturedMailRoute,
  getRawCapturedMailRoute,
  listInboxRoute,
} from './resources/inbox.ts';
import {
  changeMemberRoute,
  createMemberLinkRoute,
  endMemberSessionRoute,
  getMemberRoute,
  getMemberSessionRoute,
  inviteMemberRoute,
  listMemberSessionsRoute,
  listMembersRoute,
  removeMemberRoute,
} from './resources/members/members.ts';
import { listMembershipsRoute, startOidcRoute } from './resources/members/oidc.ts';
import {
  addPasskeyRoute,
  createChallengeRoute,
  listMemberPasskeysRoute,
  listPasskeysRoute,
  removeMemberPasskeyRoute,
  removePasskeyRoute,
} from './resources/members/passkeys.ts';
import {
  getSessionRoute,
  getSignInMethodsRoute,
  mailSignInLinkRoute,
  provePresenceRoute,
  signInRoute,
  signOutRoute,
} from './resources/members/session.ts';
import {
  getOrganizationRoute,
  setContentsRolesRoute,
  setLegalHoldRoute,
  updateOrganizationRoute,
} from './resources/organization.ts';

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
