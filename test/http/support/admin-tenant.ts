import type { Service } from './service.ts';

/** An organization with a domain of this name, and an admin key. */
export const openAdminTenant = async (service: Service, domainName: string) => {
  const organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, domainName);
  const { value: key } = await service.makeKey(organizationId, domainId, { permissions: ['admin'] });
  return { organizationId, domainId, key };
};
