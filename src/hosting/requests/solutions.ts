import { z } from 'zod';
import type { Read, Request } from '../../engine/ports.ts';
import { solutionsIn, type SolutionItem } from '../bodies/solutions.ts';
import { AnyObject, get, Id, Text, write, type BodySchemas } from './endpoint.ts';

const PostSolutions = z.strictObject({
  accountId: Id,
  solutionSlug: Text,
  appName: Text,
  region: Text,
  installationId: Id.exactOptional(),
  inputs: AnyObject.exactOptional(),
});

/** The body of `POST /solutions`. */
export type SolutionCreation = z.infer<typeof PostSolutions>;

/** What may be sent about solutions. */
export const solutionBodies: BodySchemas = { 'POST /solutions': PostSolutions };

/** Installs a solution; with an installationId the same request may be repeated, and creates only what is missing. */
export function postSolutions(body: SolutionCreation): Request {
  return write('POST', '/solutions', body.installationId === undefined ? 'create' : 'identified', body);
}

/** The solutions that an account may install. */
export function solutionsOf(accountId: string): Read<SolutionItem> {
  return {
    key: 'solutions',
    first: get('/solutions', { accountId }),
    items: solutionsIn,
    idOf: (solution) => solution.solutionSlug,
    absentOn404: false,
    pace: 'hourly',
  };
}
