/**
 * PORT: views of the dashboard that members save. They belong to a member, not to the organization, and change nothing,
 * so they are in no log. Adapter: `adapters/member-views`.
 */
export interface MemberView {
  readonly name: string;
  /** Path of the screen below `/dashboard`. */
  readonly path: string;
  /** Query string with the filters, without `?`. It can contain addresses. */
  readonly query: string;
}

/** A view, and keyed digests of the addresses in it: an erasure finds it by them. */
export interface StoredMemberView extends MemberView {
  readonly addressDigests: readonly string[];
}

export interface ViewOwner {
  readonly organizationId: string;
  readonly memberId: string;
}

export interface MemberViews {
  /** Views in the order in which they were saved. @throws {DomainError} `unavailable`. */
  list(owner: ViewOwner): Promise<readonly MemberView[]>;
  /** Replaces all views of a member in one step; of two that do so at once, the later wins. @throws {DomainError} `unavailable`. */
  replace(owner: ViewOwner, views: readonly StoredMemberView[]): Promise<void>;
}
