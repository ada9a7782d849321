/**
 * Which process does what must be done once. The leader is the process that moves the checkpoint of the webhook deliveries;
 * a process that finds another moving it follows. For a moment two may believe that they lead: they do some things twice,
 * which costs time and nothing else.
 */
export interface Leadership {
  isLeader(): boolean;
  lead(): void;
  follow(): void;
}

export const createLeadership = (): Leadership => {
  let leads = true;
  return {
    isLeader: () => leads,
    lead: () => {
      leads = true;
    },
    follow: () => {
      leads = false;
    },
  };
};
