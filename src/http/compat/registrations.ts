import type { Registration } from '../endpoint.ts';
import {
  getPostmarkDetailsRoute,
  getPostmarkDumpRoute,
  sendPostmarkBatchRoute,
  sendPostmarkEmailRoute,
  sendPostmarkTemplateBatchRoute,
  sendPostmarkTemplateRoute,
} from './postmark.ts';
import {
  cancelResendEmailRoute,
  getResendEmailRoute,
  listResendEmailsRoute,
  rescheduleResendEmailRoute,
  sendResendBatchRoute,
  sendResendEmailRoute,
} from './resend.ts';
import { sendSendgridMailRoute } from './sendgrid.ts';

/** Routes of other services' published clients, which work with this service when their base URL is changed. */
export const COMPAT_REGISTRATIONS: Readonly<Record<string, Registration>> = {
  sendResendEmailRoute,
  sendResendBatchRoute,
  listResendEmailsRoute,
  getResendEmailRoute,
  rescheduleResendEmailRoute,
  cancelResendEmailRoute,
  sendPostmarkEmailRoute,
  sendPostmarkBatchRoute,
  sendPostmarkTemplateRoute,
  sendPostmarkTemplateBatchRoute,
  getPostmarkDetailsRoute,
  getPostmarkDumpRoute,
  sendSendgridMailRoute,
};
