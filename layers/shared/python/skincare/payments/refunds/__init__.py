"""Money that goes back: asked for by a person, sent by a job, booked by the event of the gateway."""
