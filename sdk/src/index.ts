export * from './api/resources.ts';
export type * from './api/schemas.ts';
export { type Attempt, type Call, type Configuration, createCall, responseOf } from './call.ts';
export {
  ApiError,
  ConflictError,
  ConnectionError,
  type ErrorCode,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  OutboxError,
  RateLimitError,
  type Refusal,
  ServerError,
  TimedOutError,
  UnauthorizedError,
  UnprocessableError,
} from './errors.ts';
export { type StreamedEvent, type StreamOptions, type StreamQuery, streamEvents } from './event-stream.ts';
export type { List } from './list.ts';
export type { Attachment, RenderReact, SendBatch, SendMessage } from './message-body.ts';
export { type ClientOptions, createOutbox, type Outbox } from './outbox.ts';
export type { ChangeOptions, Operation, RequestOptions, SendOptions } from './request.ts';
export { type ReceivedWebhook, verifyWebhook, WebhookVerificationError } from './webhooks.ts';
