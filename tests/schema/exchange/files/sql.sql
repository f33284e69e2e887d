-- a comment, (with parentheses
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE public.visits (
    "patient id" bigint PRIMARY KEY,
    sex varchar(1) NOT NULL CHECK (sex IN ('f', 'm', 'o''x')),
    mood mood NOT NULL,
    age smallint NOT NULL CHECK (age BETWEEN 0 AND 120),
    price numeric(8, 2) NOT NULL,
    admitted date NOT NULL CHECK (admitted >= '2020-01-01' AND admitted <= '2024-12-31'),
    seen timestamp,
    "left" timestamp,
    CONSTRAINT order_of_dates CHECK (seen < "left")
);
